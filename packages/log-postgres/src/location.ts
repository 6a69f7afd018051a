/** Where the log is: the URL of a database, and the schema in it. Pure. */

export interface Location {
  /** For the driver; without what is ours alone. */
  readonly url: string;
  readonly schema: string;
  /** For people: without user and password. */
  readonly shown: string;
}

/** PostgreSQL cuts longer names off. */
const nameBytesMax = 63;

/**
 * @param url - `postgres://user:password@host:5432/database?schema=holdfast`
 * @throws TypeError for what is no such URL
 */
export function readLocation(url: string): Location {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new TypeError(
      "The URL of a PostgreSQL log begins with postgres:// and names a database.",
    );
  }
  const parsed = new URL(url);
  const schema = parsed.searchParams.get("schema") ?? "holdfast";
  if (schema === "" || Buffer.byteLength(schema) > nameBytesMax || schema.includes("\0")) {
    throw new TypeError(`"${schema}" is no name of a schema.`);
  }
  parsed.searchParams.delete("schema");
  const { host, pathname } = parsed;
  const suffix = schema === "holdfast" ? "" : `?schema=${schema}`;
  return { url: parsed.href, schema, shown: `postgres://${host}${pathname}${suffix}` };
}
