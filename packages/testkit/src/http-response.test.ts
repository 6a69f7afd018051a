import { expect, test } from "vitest";
import { responseReader } from "./http-response.ts";

const chunkedResponse =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
  "5;note=x\r\nhello\r\na\r\n to\r\nall\r\n\r\n0\r\nTrailer: 1\r\n\r\n";
const fixedResponse = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone";
const bare = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
const untilClose = "HTTP/1.0 200 OK\r\n\r\nas long as it lasts";

/** What a reader makes of these chunks, one line a response, "|" where it ends. */
function read(chunks: readonly string[], method?: string): { seen: string; finish: string } {
  const reader = responseReader(method);
  const pieces = chunks.flatMap((chunk) => reader.read(Buffer.from(chunk, "latin1")));
  const seen = pieces.map((piece) => {
    if (piece.kind === "head") return `${piece.head.status} `;
    return piece.kind === "body" ? piece.bytes.toString("latin1") : "|";
  });
  return { seen: seen.join(""), finish: reader.finish() };
}

const all = chunkedResponse + fixedResponse + bare + untilClose;
const expected = "200 hello to\r\nall\r\n|404 none|202 |200 as long as it lasts";

test("responses are read whole however they are cut", () => {
  expect(read([all]).seen).toBe(expected);
  expect(read([...all]).seen).toBe(expected);
  for (let at = 1; at < all.length; at += 1) {
    expect(read([all.slice(0, at), all.slice(at)])).toEqual({ seen: expected, finish: "complete" });
  }
});

test("every cut before the last byte is seen as a cut", () => {
  for (const response of [chunkedResponse, fixedResponse]) {
    expect(read([response]).finish).toBe("complete");
    for (let at = 1; at < response.length; at += 1) {
      expect(read([response.slice(0, at)]).finish).toBe("truncated");
    }
  }
  expect(read([]).finish).toBe("none");
});

test("headers are kept as they came and joined by name", () => {
  const text = "HTTP/1.1 200 OK\r\nVary: a\r\nvary:b\r\nX-Colon: a:b\r\nContent-Length: 0\r\n\r\n";
  const [piece] = responseReader().read(Buffer.from(text));
  expect(piece).toMatchObject({
    head: {
      headers: { vary: "a, b", "x-colon": "a:b" },
      rawHeaders: [
        ["Vary", "a"],
        ["vary", "b"],
        ["X-Colon", "a:b"],
        ["Content-Length", "0"],
      ],
    },
  });
});

test("an interim response is skipped, and a HEAD has no body", () => {
  expect(read(["HTTP/1.1 100 Continue\r\n\r\n", bare]).seen).toBe("202 |");
  expect(read([fixedResponse.slice(0, -4)], "HEAD")).toEqual({ seen: "404 |", finish: "complete" });
});

test("what is no HTTP response is refused", () => {
  expect(() => read(["SSH-2.0-OpenSSH\r\n\r\n"])).toThrow("no HTTP response");
  expect(() => read(["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"])).toThrow(
    'no chunk size: "xyz"',
  );
  expect(() => read(["x".repeat(70_000)])).toThrow("no line end");
});
