/**
 * Changes to a JSON text that leave every other character alone [C E-12].
 */
import { locate, type Member, membersOf, type Span } from "./locate.ts";

export interface Edit extends Span {
  readonly insert: string;
}

/** Apply edits that do not overlap, in any order. */
export function splice(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const sorted = edits.length === 1 ? edits : edits.toSorted((a, b) => a.start - b.start);
  let result = "";
  let from = 0;
  for (const edit of sorted) {
    result += text.slice(from, edit.start) + edit.insert;
    from = edit.end;
  }
  return result + text.slice(from);
}

/** Replace the values at a path. */
export function replaceAt(text: string, path: readonly string[], json: string): string {
  return splice(
    text,
    locate(text, ...path).map((span) => ({ ...span, insert: json })),
  );
}

/** The text of the value at a path, as `JSON.parse` would choose it. */
export function textAt(text: string, ...path: readonly string[]): string | undefined {
  const span = locate(text, ...path).at(-1);
  return span === undefined ? undefined : text.slice(span.start, span.end);
}

/**
 * Set a member somewhere below an object, making the objects on the way where they are missing.
 *
 * A value on the way that is no object is replaced by one: it could hold no member.
 */
export function setMember(text: string, path: readonly string[], json: string): string {
  const [key, ...rest] = path;
  if (key === undefined) return json;
  const members = membersOf(text);
  const present = members.filter((member) => member.key === key);
  if (present.length > 0) {
    return splice(
      text,
      present.map(({ value }) => ({
        ...value,
        insert: setMember(text.slice(value.start, value.end), rest, json),
      })),
    );
  }
  const value = rest.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, json);
  const member = `${JSON.stringify(key)}:${value}`;
  const last = members.at(-1);
  if (last === undefined) return `{${member}}`;
  return splice(text, [{ start: last.value.end, end: last.value.end, insert: `,${member}` }]);
}

/** Remove a member of the object at `path`; the comma beside it goes too. */
export function removeMember(text: string, path: readonly string[], key: string): string {
  return splice(
    text,
    locate(text, ...path).flatMap((span) => removals(membersOf(text, span.start), key)),
  );
}

function removals(members: readonly Member[], key: string): readonly Edit[] {
  const kept = members.filter((member) => member.key !== key);
  const first = members[0];
  const last = members.at(-1);
  if (first === undefined || last === undefined || kept.length === members.length) return [];
  if (kept.length === 0) return [{ start: first.keyStart, end: last.value.end, insert: "" }];
  return members.flatMap((member, index) => {
    if (member.key !== key) return [];
    const next = members[index + 1];
    // With its comma: the one behind it, or, once nothing kept follows, the one before it.
    const isKeptBehind = members.slice(index + 1).some((other) => other.key !== key);
    if (isKeptBehind && next !== undefined) {
      return [{ start: member.keyStart, end: next.keyStart, insert: "" }];
    }
    const previous = members[index - 1];
    const start = previous === undefined ? member.keyStart : previous.value.end;
    return [{ start, end: member.value.end, insert: "" }];
  });
}
