/** A file system with little room: what a full disk does can only be tested on one. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onDispose } from "./disposal.ts";

/** `CAP_SYS_ADMIN`, as a bit of `CapEff` in /proc/self/status (capability.h). */
const mayMountBit = 21n;

/**
 * Mount a small tmpfs; it goes with the test.
 *
 * @param kilobytes - all the room that there is, 1024 bytes each
 * @returns its directory; `undefined`, after a line that says so, for a user who may not mount
 * @throws Error when it cannot be mounted by one who may, and `HOLDFAST_REQUIRE_SERVICES=1` forbids
 * to skip
 */
export function smallDisk(kilobytes: number): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-small-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kilobytes}k`, "tmpfs", directory], {
      stdio: "ignore",
    });
  } catch (error) {
    rmdirSync(directory);
    if (process.env.HOLDFAST_REQUIRE_SERVICES === "1" && mayMount()) throw error;
    process.stderr.write("SKIP: no small file system can be mounted; its test does not run\n");
    return undefined;
  }
  onDispose(() => {
    // A process that the test killed may hold it for a moment still.
    execFileSync("umount", ["--lazy", directory]);
    rmdirSync(directory);
  });
  return directory;
}

function mayMount(): boolean {
  try {
    const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"));
    return ((BigInt(`0x${capabilities?.[1] ?? "0"}`) >> mayMountBit) & 1n) === 1n;
  } catch {
    return false;
  }
}
