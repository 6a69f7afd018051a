/**
 * Requests of the protocol that change nothing, or set what is set already: they may run twice
 * whatever became of the first run [C K-07] [C X-05]. Of `tools/call` nothing is known by its method.
 */
const repeatableMethods: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "completion/complete",
  "logging/setLevel",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "tools/list",
  "tasks/get",
  "tasks/list",
  "tasks/result",
]);

export function isRepeatableMethod(method: string): boolean {
  return repeatableMethods.has(method);
}
