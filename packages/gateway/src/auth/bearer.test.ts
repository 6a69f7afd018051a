import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { invalidToken, missingToken, presentedToken } from "./bearer.ts";

test.each([
  ["Bearer abc", { kind: "token", token: "abc" }],
  ["bearer   a.b-c_d~e+f/g==  ", { kind: "token", token: "a.b-c_d~e+f/g==" }],
  [undefined, { kind: "none" }],
  ["", { kind: "none" }],
  ["Basic abc", { kind: "none" }],
  ["Bearerabc", { kind: "none" }],
  ["Bearer", { kind: "malformed" }],
  ["Bearer a b", { kind: "malformed" }],
  ["Bearer a, Bearer b", { kind: "malformed" }],
  ['Bearer "a"', { kind: "malformed" }],
])("Authorization: %s", (header, presented) => {
  expect(presentedToken(header)).toEqual(presented);
});

const metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

test.each([
  [missingToken(metadata), `Bearer resource_metadata="${metadata}"`],
  [missingToken(undefined), "Bearer"],
  [
    invalidToken("It is old.", metadata),
    `Bearer error="invalid_token", error_description="It is old.", resource_metadata="${metadata}"`,
  ],
  [
    invalidToken("It is old.", undefined),
    'Bearer error="invalid_token", error_description="It is old."',
  ],
])(
  `${verifies("S-06")}a challenge says what is wrong, and where to go: %j`,
  (outcome, challenge) => {
    expect(outcome).toMatchObject({ kind: "refused", challenge });
  },
);
