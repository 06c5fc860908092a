import { YAMLException } from "js-yaml";
import { getErrorMessage } from "../errors/errors.ts";
import { parseFirstYamlDocument } from "./yaml.ts";

/** Maximum number of values after expanding aliases. The largest real manifests have about 100,000 values. */
const MAX_VALUES = 5_000_000;

/** Called with the name of each member that is read. May throw. */
export type OnMember = (name: string) => void;

/**
 * Parses the document in `text`; null if there is none. Ignores everything after a line with three dots.
 * @param maxInteger larger integers become numbers, as in `ValueOptions`
 * @throws Error with Go's prefix and the line; an error of `onMember` is its cause
 */
export function parseYamlDocument(text: string, onMember?: OnMember, maxInteger?: bigint): unknown {
  try {
    const document = parseFirstYamlDocument(text, { onMember, ...(maxInteger === undefined ? {} : { maxInteger }) });
    if (text.includes("&") && text.includes("*") && countValues(document, 0) > MAX_VALUES)
      throw new Error("document contains excessive aliasing");
    return document;
  } catch (err) {
    const line = err instanceof YAMLException && err.mark ? `line ${err.mark.line + 1}: ` : "";
    const reason = err instanceof YAMLException ? err.reason : getErrorMessage(err);
    throw new Error(`error converting YAML to JSON: yaml: ${line}${reason}`, { cause: err });
  }
}

/** Calls `onMember` with the name of each member in `value`, at any depth and without recursion. */
export function forEachMember(value: unknown, onMember: OnMember): void {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== "object" || one === null) continue;
    if (!Array.isArray(one)) for (const name of Object.keys(one)) onMember(name);
    for (const item of Object.values(one)) if (typeof item === "object") left.push(item);
  }
}

/** Returns `count` plus the number of values in `value`. Counts shared values each time they occur. Stops soon after `max`. */
export function countValues(value: unknown, count: number, max = MAX_VALUES): number {
  let total = count + 1;
  if (typeof value !== "object" || value === null) return total;
  for (const item of Object.values(value)) {
    total = countValues(item, total, max);
    if (total > max) break;
  }
  return total;
}
