import { goQuote } from "../golang/quote.ts";
import type { BundleIdentity } from "./renderBundle.ts";

const ACTION = /\{\{([^{}]*)\}\}/g;
const FIELDS: ReadonlyMap<string, keyof BundleIdentity> = new Map([
  [".Package", "packageName"],
  [".Name", "name"],
  [".Version", "version"],
]);

/**
 * Makes references of bundle images from a template such as `quay.io/example/{{.Package}}:v{{.Version}}`; `.Name` is there as well.
 * @throws Error for anything else between braces.
 */
export function imageTemplate(template: string): (identity: BundleIdentity) => string {
  for (const [, action = ""] of template.matchAll(ACTION)) fieldOf(action);
  if (/\{\{|\}\}/.test(template.replaceAll(ACTION, "")))
    throw new Error(`image reference template ${goQuote(template)}: a brace is left open`);
  return (identity) => template.replaceAll(ACTION, (_, action: string) => identity[fieldOf(action)]);
}

function fieldOf(action: string): keyof BundleIdentity {
  const field = FIELDS.get(action.trim());
  if (field !== undefined) return field;
  throw new Error(`image reference template: ${goQuote(action.trim())} is none of ${[...FIELDS.keys()].join(", ")}`);
}
