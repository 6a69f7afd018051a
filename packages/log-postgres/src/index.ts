export { type PostgresLogOptions, postgresLog } from "./postgres-log.ts";
