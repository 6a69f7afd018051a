/** The tools of the everything server: one for each thing that a tool can do in MCP. */
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  type CallToolResult,
  CreateMessageResultSchema,
  ElicitResultSchema,
  type ServerNotification,
  type ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { blueWave, redPixel, staticResource } from "./fixtures.ts";
import { defaultsForm, enumsForm, questionForm } from "./forms.ts";

export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
export type Arguments = Readonly<Record<string, unknown>>;

interface Tool {
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown };
  call(args: Arguments, extra: Extra): Promise<CallToolResult> | CallToolResult;
}

const noArguments = { type: "object", properties: {} } as const;
const text = (value: string) => ({ type: "text" as const, text: value });
const image = { type: "image" as const, data: redPixel, mimeType: "image/png" };
const resource = { type: "resource" as const, resource: staticResource };

/** A tool without arguments that always says the same. */
function saying(description: string, ...content: CallToolResult["content"]): Tool {
  return { description, inputSchema: noArguments, call: () => ({ content }) };
}

export const tools: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ["test_simple_text", saying("Says a sentence.", text("This is a simple text response."))],
  ["test_image_content", saying("Shows an image.", image)],
  [
    "test_audio_content",
    saying("Plays a sound.", { type: "audio", data: blueWave, mimeType: "audio/wav" }),
  ],
  ["test_embedded_resource", saying("Brings a resource with it.", resource)],
  [
    "test_multiple_content_types",
    saying("Says, shows and brings something.", text("Three kinds of content:"), image, resource),
  ],
  [
    "test_tool_with_logging",
    {
      description: "Logs three lines while it runs.",
      inputSchema: noArguments,
      call: async (_args, extra) => {
        for (const data of ["started", "at work", "done"]) {
          const params = { level: "info" as const, logger: "everything", data };
          await extra.sendNotification({ method: "notifications/message", params });
          await sleep(50);
        }
        return { content: [text("Three lines were logged.")] };
      },
    },
  ],
  [
    "test_tool_with_progress",
    {
      description: "Reports progress while it runs.",
      inputSchema: noArguments,
      call: async (_args, extra) => {
        for (const progress of [0, 50, 100]) {
          await reportProgress(extra, progress);
          await sleep(50);
        }
        return { content: [text("Progress was reported.")] };
      },
    },
  ],
  [
    "test_error_handling",
    {
      description: "Fails.",
      inputSchema: noArguments,
      call: () => ({ isError: true, content: [text("This tool always fails.")] }),
    },
  ],
  [
    "test_reconnection",
    {
      description: "Lets its reader go before it has a result [SEP-1699].",
      inputSchema: noArguments,
      call: async (_args, extra) => {
        extra.closeSSEStream?.();
        await sleep(100);
        return { content: [text("The result came after the stream was closed.")] };
      },
    },
  ],
  [
    "test_sampling",
    {
      description: "Asks the client's model.",
      inputSchema: { type: "object", properties: { prompt: { type: "string" } } },
      call: async ({ prompt }, extra) => {
        const content = text(String(prompt ?? "Say something."));
        const params = { messages: [{ role: "user" as const, content }], maxTokens: 100 };
        const request = { method: "sampling/createMessage" as const, params };
        const { content: said } = await extra.sendRequest(request, CreateMessageResultSchema);
        return { content: [text(`The model said: ${JSON.stringify(said)}`)] };
      },
    },
  ],
  [
    "test_elicitation",
    {
      description: "Asks the user.",
      inputSchema: { type: "object", properties: { message: { type: "string" } } },
      call: ({ message }, extra) => ask(extra, String(message ?? "Who are you?"), questionForm),
    },
  ],
  [
    "test_elicitation_sep1034_defaults",
    {
      description: "Asks the user, with answers filled in [SEP-1034].",
      inputSchema: noArguments,
      call: (_args, extra) => ask(extra, "Are these right?", defaultsForm),
    },
  ],
  [
    "test_elicitation_sep1330_enums",
    {
      description: "Asks the user to choose [SEP-1330].",
      inputSchema: noArguments,
      call: (_args, extra) => ask(extra, "Please choose.", enumsForm),
    },
  ],
  [
    "json_schema_2020_12_tool",
    {
      description: "Has a schema in all the words of JSON Schema 2020-12.",
      inputSchema: addressSchema(),
      call: (args) => ({ content: [text(JSON.stringify(args))] }),
    },
  ],
]);

async function reportProgress(extra: Extra, progress: number): Promise<void> {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress, total: 100 };
  await extra.sendNotification({ method: "notifications/progress", params });
}

async function ask(
  extra: Extra,
  message: string,
  requestedSchema: object,
): Promise<CallToolResult> {
  const params = { message, requestedSchema } as never;
  const request = { method: "elicitation/create" as const, params };
  const answer = await extra.sendRequest(request, ElicitResultSchema);
  return { content: [text(`The user answered: ${JSON.stringify(answer)}`)] };
}

function addressSchema() {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  } as const;
}
