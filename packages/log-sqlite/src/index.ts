export type { CacheBounds } from "./book.ts";
export { type SqliteLogOptions, sqliteLog } from "./sqlite-log.ts";
export type { SqliteDurability } from "./takeover.ts";
