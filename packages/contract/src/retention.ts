/** How long events are kept, per session [C W-01]. */
export interface Retention {
  /** Floor in time, milliseconds. */
  readonly windowMs: number;
  /** Cap on retained notifications and server-to-client requests. */
  readonly maxEvents: number;
  /** Cap on retained message text, bytes of UTF-8. */
  readonly maxBytes: number;
}
