import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { disposeAll } from "./disposal.ts";
import { spawnProcess } from "./spawn-process.ts";

afterEach(disposeAll);

const js = (source: string, options = {}) => spawnProcess("node", ["-e", source], options);

test("a process is ready when its line comes, runs our Node and our sources", async () => {
  const child = await js(
    "console.log('listening on ' + 4711, process.version, process.env.NODE_OPTIONS);" +
      "process.stdin.on('data', (d) => console.error('got ' + d))",
    { readyPattern: /listening on (\d+) (\S+) .*--conditions=holdfast-source/ },
  );
  expect(child.ready?.slice(1)).toEqual(["4711", process.version]);
  child.write("hello\n");
  expect((await child.line(/got (.*)/))[1]).toBe("hello");
  expect(await child.kill("SIGTERM")).toEqual({ code: null, signal: "SIGTERM" });
});

test("an exit is told with all of the output", async () => {
  const child = await js("process.stdout.write('x'.repeat(200000)); process.exitCode = 3", {
    env: { UNUSED: undefined },
  });
  expect(await child.exited).toEqual({ code: 3, signal: null });
  expect(child.stdout).toHaveLength(200_000);
});

test("a process that ends before it is ready fails with its output", async () => {
  const failing = js("console.error('no such log'); process.exit(1)", { readyPattern: /ready/ });
  await expect(failing).rejects.toThrow(/it exited with 1\nno such log/);
  await expect(spawnProcess("no-such-command")).rejects.toThrow("ENOENT");
});

test("disposeAll ends the process and its children", async () => {
  const listening =
    "require('net').createServer().listen(0, '127.0.0.1', function () {" +
    "console.log('port ' + this.address().port) })";
  const child = await js(
    `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(listening)}],` +
      "{ stdio: 'inherit' }); setInterval(() => {}, 1000)",
    { readyPattern: /port (\d+)/ },
  );
  const open = connect({ host: "127.0.0.1", port: Number(child.ready?.[1]) });
  await once(open, "connect");
  const cut = new Promise((resolve) => open.on("error", () => {}).on("close", resolve));
  await disposeAll();
  expect((await child.exited).signal).toBe("SIGKILL");
  await cut;
});
