/** The forms that the everything server shows to users. */

export const questionForm = {
  type: "object",
  properties: { response: { type: "string", description: "Your answer" } },
  required: ["response"],
};

/** One field of each kind, each with an answer filled in [SEP-1034]. */
export const defaultsForm = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  required: [],
};

const titled = ["one", "two", "three"].map((value, index) => ({
  const: `value${index + 1}`,
  title: `Option ${value}`,
}));
const untitled = ["option1", "option2", "option3"];

/** Every way to let a user choose [SEP-1330]. */
export const enumsForm = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: untitled },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option one", "Option two", "Option three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: untitled } },
    titledMulti: { type: "array", items: { anyOf: titled } },
  },
  required: [],
};
