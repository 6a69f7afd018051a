/** Where the examples listen, and keep their sessions: `PORT`, `DB`. */

export const port = Number(process.env["PORT"] ?? 3000);
export const dbFile = process.env["DB"] ?? "./sessions.db";

export function ready(address: { readonly port?: number } | string | null): void {
  const at = typeof address === "object" ? address?.port : undefined;
  console.log(`MCP on http://127.0.0.1:${at ?? port}/mcp`);
}
