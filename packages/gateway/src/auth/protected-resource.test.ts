import { expect, test } from "vitest";
import { discoveryUrls } from "./issuer-keys.ts";
import { audiencesOf, metadataUrlOf } from "./protected-resource.ts";

const protectedResource = "/.well-known/oauth-protected-resource";

test.each([
  ["https://mcp.example/mcp", `https://mcp.example${protectedResource}/mcp`],
  ["https://mcp.example/a/b", `https://mcp.example${protectedResource}/a/b`],
  ["https://mcp.example:8443/", `https://mcp.example:8443${protectedResource}`],
])("the metadata of %s is at %s", (endpoint, url) => {
  expect(metadataUrlOf(endpoint)).toBe(url);
});

test("tokens are made for the endpoint; of a bare host, with or without its slash", () => {
  expect(audiencesOf("https://mcp.example/mcp")).toEqual(["https://mcp.example/mcp"]);
  expect(audiencesOf("https://mcp.example/")).toEqual([
    "https://mcp.example",
    "https://mcp.example/",
  ]);
});

test.each([
  [
    "https://id.example",
    [
      "https://id.example/.well-known/oauth-authorization-server",
      "https://id.example/.well-known/openid-configuration",
    ],
  ],
  [
    "https://id.example/",
    [
      "https://id.example/.well-known/oauth-authorization-server",
      "https://id.example/.well-known/openid-configuration",
    ],
  ],
  [
    "https://id.example/realms/a",
    [
      "https://id.example/.well-known/oauth-authorization-server/realms/a",
      "https://id.example/.well-known/openid-configuration/realms/a",
      "https://id.example/realms/a/.well-known/openid-configuration",
    ],
  ],
])("the issuer %s is looked up at its well-known places", (issuer, urls) => {
  expect(discoveryUrls(issuer)).toEqual(urls);
});
