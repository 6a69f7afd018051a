/** What the parts of an open log work with. */
import type { EventLog, LogSettings } from "@holdfast/log";
import type { Attendance } from "./attendance.ts";
import type { Line } from "./connection.ts";
import type { StoreKeys } from "./keys.ts";

export interface Desk {
  readonly line: Line;
  readonly keys: StoreKeys;
  readonly settings: LogSettings;
  readonly attendance: Attendance;
  readonly location: EventLog["location"];
}
