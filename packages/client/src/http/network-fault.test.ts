import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { networkFault } from "./network-fault.ts";

/** As undici throws it. */
const thrown = (cause: object) => new TypeError("fetch failed", { cause });
const coded = (code: string) => thrown(Object.assign(new Error("x"), { code }));

describe("why no answer came", () => {
  test.each([
    ["ECONNREFUSED", true, /nothing listens there \(ECONNREFUSED\)/, /Start the server/],
    ["ENOTFOUND", true, /its name is not known/, /DNS/],
    ["EAI_AGAIN", true, /its name is not known/, /DNS/],
    ["EHOSTUNREACH", false, /no route/, /VPN/],
    ["UND_ERR_CONNECT_TIMEOUT", true, /no connection came about in time/, /firewall/],
    ["CERT_HAS_EXPIRED", false, /its certificate is not accepted/, /NODE_EXTRA_CA_CERTS/],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", false, /its certificate/, /NODE_EXTRA_CA_CERTS/],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", false, /its certificate/, /NODE_EXTRA_CA_CERTS/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", false, /its certificate/, /name that it is made out for/],
    ["ERR_SSL_WRONG_VERSION_NUMBER", true, /no TLS connection/, /http:\/\//],
    ["HPE_INVALID_CONSTANT", false, /speaks no HTTP/, /https:\/\//],
    ["ECONNRESET", false, /cut before an answer/, /proxies/],
    ["UND_ERR_SOCKET", false, /cut before an answer/, /proxies/],
  ] as const)(`${verifies("K-09")}%s: unsent %s`, (code, isUnsent, why, fix) => {
    const fault = networkFault(coded(code), false);
    expect(fault).toMatchObject({ by: "reset", isUnsent, code });
    expect(fault.why).toMatch(why);
    expect(fault.fix).toMatch(fix);
  });

  test("a host of several addresses: the last one tried", () => {
    const errors = ["ETIMEDOUT", "ECONNREFUSED"].map((code) =>
      Object.assign(new Error("x"), { code, syscall: "connect" }),
    );
    const fault = networkFault(thrown(new AggregateError(errors)), false);
    expect(fault).toMatchObject({ isUnsent: true, code: "ECONNREFUSED" });
  });

  test(`${verifies("K-09")}given up since it was late: it may have run`, () => {
    const fault = networkFault(new DOMException("aborted", "AbortError"), true);
    expect(fault).toMatchObject({ by: "timeout", isUnsent: false, code: null });
    expect(fault.why).toBe("it did not answer in time");
    expect(networkFault(coded("UND_ERR_HEADERS_TIMEOUT"), false).by).toBe("timeout");
  });

  test("a port that fetch refuses: nothing was sent", () => {
    const fault = networkFault(thrown(new Error("bad port")), false);
    expect(fault).toMatchObject({ isUnsent: true, why: "fetch speaks to no server on this port" });
  });

  test("anything may be thrown", () => {
    const circle: { cause?: unknown } = {};
    circle.cause = circle;
    for (const odd of [undefined, null, "text", 7, circle, { code: 5 }]) {
      expect(networkFault(odd, false)).toMatchObject({ by: "reset", isUnsent: false, code: null });
    }
  });
});
