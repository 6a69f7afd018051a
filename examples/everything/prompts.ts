/** The prompts of the everything server. */
import type { GetPromptResult, PromptArgument } from "@modelcontextprotocol/sdk/types.js";
import { redPixel, staticResource } from "./fixtures.ts";

interface Prompt {
  readonly description: string;
  readonly arguments: PromptArgument[];
  messages(args: Readonly<Record<string, string>>): GetPromptResult["messages"];
}

const argument = (name: string): PromptArgument => ({ name, required: true });
const says = (text: string) => ({
  role: "user" as const,
  content: { type: "text" as const, text },
});

export const prompts: ReadonlyMap<string, Prompt> = new Map<string, Prompt>([
  [
    "test_simple_prompt",
    {
      description: "Says a sentence.",
      arguments: [],
      messages: () => [says("This is a simple prompt.")],
    },
  ],
  [
    "test_prompt_with_arguments",
    {
      description: "Says what it is given.",
      arguments: [argument("arg1"), argument("arg2")],
      messages: ({ arg1, arg2 }) => [says(`arg1 is '${arg1}', arg2 is '${arg2}'.`)],
    },
  ],
  [
    "test_prompt_with_embedded_resource",
    {
      description: "Brings a resource with it.",
      arguments: [argument("resourceUri")],
      messages: ({ resourceUri = staticResource.uri }) => [
        {
          role: "user",
          content: { type: "resource", resource: { ...staticResource, uri: resourceUri } },
        },
        says("Please read this."),
      ],
    },
  ],
  [
    "test_prompt_with_image",
    {
      description: "Shows an image.",
      arguments: [],
      messages: () => [
        { role: "user", content: { type: "image", data: redPixel, mimeType: "image/png" } },
        says("What is on this?"),
      ],
    },
  ],
]);
