export { type SqliteLogOptions, sqliteLog } from "./sqlite-log.ts";
