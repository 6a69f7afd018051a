/** Small stdio servers for the tests beside. */

/**
 * A stdio server.
 *
 * @param handlers - JavaScript: an object of functions by method of the request; `ask(method)`
 * sends a request to the client and resolves with its answer
 * @returns `--` and the command
 */
export function serverScript(handlers: string): string[] {
  const script = `
    const write = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
    const asked = new Map();
    const ask = (method) => new Promise((resolve) => {
      asked.set(asked.size, resolve);
      write({ id: asked.size - 1, method, params: {} });
    });
    const handlers = { initialize: () => ({ protocolVersion: "2025-11-25", capabilities: {},
      serverInfo: { name: "test", version: "1" } }), ...${handlers} };
    require("readline").createInterface({ input: process.stdin }).on("line", async (line) => {
      const { id, method, params, result } = JSON.parse(line);
      if (method === undefined) asked.get(id)(result);
      else if (id !== undefined) write({ id, result: await handlers[method](params) });
    });`;
  return ["--", process.execPath, "-e", script];
}
