/** The upstream's answer to `initialize`, as the client gets it. Pure. */
import { type ResumeCapability, resumeCapabilityKey, setMember } from "@holdfast/contract";
import type { Call } from "@holdfast/log";
import { versionlessAnswer } from "./answers.ts";

interface InitializeAnswer {
  readonly result?: { readonly protocolVersion?: unknown } | null;
  readonly error?: unknown;
}

/**
 * @param answer - JSON text, with the client's own id
 * @returns the negotiated version, undefined when the upstream refused; the text with the capability
 * that is advertised [C W-05]
 */
export function readInitialized(
  call: Call,
  answer: string,
  capability: ResumeCapability,
): { readonly version: string | undefined; readonly text: string } {
  const { result, error } = JSON.parse(answer) as InitializeAnswer;
  const version = result?.protocolVersion;
  if (typeof version !== "string") {
    return { version: undefined, text: error === undefined ? versionlessAnswer(call) : answer };
  }
  const path = ["result", "capabilities", "experimental", resumeCapabilityKey];
  return { version, text: setMember(answer, path, JSON.stringify(capability)) };
}
