/** What a file imports: static, re-exported, dynamic, and in types. */
import { lineOf, type SourceFile, type SyntaxNode, stringOf, syntaxNodes } from "./source-files.ts";

export interface Import {
  /** As written: `./wait-for.ts`, `@holdfast/log`, `node:net`. */
  readonly specifier: string;
  /** `type`: gone when types are stripped. `later`: loaded when the code gets there. */
  readonly kind: "value" | "type" | "later";
  readonly line: number;
}

/** Imports whose specifier is a literal, in the order of their lines. */
export function importsOf(file: SourceFile): Import[] {
  return syntaxNodes(file)
    .flatMap((node) => {
      const kind = importKind(node);
      const specifier = stringOf(node.source);
      if (kind === undefined || specifier === undefined) return [];
      return [{ specifier, kind, line: lineOf(file.text, node) }];
    })
    .sort((a, b) => a.line - b.line);
}

function importKind(node: SyntaxNode): Import["kind"] | undefined {
  switch (node.type) {
    // `import { type A }` still loads the file: only `import type` does not.
    case "ImportDeclaration":
      return node.importKind === "type" ? "type" : "value";
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      return node.exportKind === "type" ? "type" : "value";
    case "ImportExpression":
      return "later";
    case "TSImportType":
      return "type";
    default:
      return undefined;
  }
}
