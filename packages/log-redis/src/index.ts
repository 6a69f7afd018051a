export { type RedisLogOptions, redisLog } from "./redis-log.ts";
