/** The revisions of the protocol that sessions are served in, and how they differ here. */

/** Newest first, as refusals list them [C S-09]. */
export const supportedVersions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

export type SupportedVersion = (typeof supportedVersions)[number];

/** Key in a request's `_meta` by which the stateless revision is known [C S-09]. */
export const statelessVersionKey = "io.modelcontextprotocol/protocolVersion";

/** True of a value that an `MCP-Protocol-Version` header may have in any session. */
export function isSupportedVersion(version: string): version is SupportedVersion {
  return supportedVersions.some((supported) => supported === version);
}

/** True when clients of this version take an event with empty data [C E-05]. */
export function isPrimedVersion(version: string): boolean {
  return dateForm.test(version) && version >= "2025-11-25";
}

/** True when a POST may hold an array of messages: 2025-03-26 and older [C E-01]. */
export function allowsArrays(version: string): boolean {
  return dateForm.test(version) && version <= "2025-03-26";
}

// A version is a date, so that the order of the strings is the order of the revisions.
const dateForm = /^\d{4}-\d{2}-\d{2}$/;
