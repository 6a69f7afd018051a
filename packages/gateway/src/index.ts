export {
  type StdioUpstreamSettings,
  type StdioUpstreams,
  stdioDefaults,
  stdioUpstreams,
} from "./stdio-upstream.ts";
