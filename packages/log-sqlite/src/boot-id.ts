/** Which start of the machine this is. */
import { readFileSync } from "node:fs";

/** @returns the empty text where the system does not say; an unclean stop then counts as a loss */
export function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
