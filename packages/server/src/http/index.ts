/** What another endpoint of the same process needs of this one: faces, checks, refusals, a feed. */
export { type AccessRules, checkAccess } from "./access.ts";
export type { Headers, HttpReply, HttpRequest } from "./exchange.ts";
export { Feed, type FeedSettings } from "./feed.ts";
export { nodeReply, nodeRequest } from "./node.ts";
export { type Rejection, reject, sendRejection } from "./rejection.ts";
