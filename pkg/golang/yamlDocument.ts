import { YAMLException } from "js-yaml";
import { messageOf } from "../errors/errors.ts";
import { parseFirstYamlDocument } from "./yaml.ts";

/** Aliases let a small text stand for a huge value; the largest real manifests have some 100,000 values. */
const MAX_VALUES = 5_000_000;

/** Called with the name of each member that is read. May throw. */
export type OnMember = (name: string) => void;

/**
 * The document in `text`, null when there is none; what follows a line of three dots is not looked at.
 * @param maxInteger integers beyond it become numbers, as in `ValueOptions`.
 * @throws Error that begins as Go's does and names the line; what `onMember` throws is its cause.
 */
export function yamlDocument(text: string, onMember?: OnMember, maxInteger?: bigint): unknown {
  try {
    const document = parseFirstYamlDocument(text, { onMember, ...(maxInteger === undefined ? {} : { maxInteger }) });
    if (text.includes("&") && text.includes("*") && countValues(document, 0) > MAX_VALUES)
      throw new Error("document contains excessive aliasing");
    return document;
  } catch (err) {
    const line = err instanceof YAMLException && err.mark ? `line ${err.mark.line + 1}: ` : "";
    const reason = err instanceof YAMLException ? err.reason : messageOf(err);
    throw new Error(`error converting YAML to JSON: yaml: ${line}${reason}`, { cause: err });
  }
}

/** Calls `onMember` with the name of each member in `value`, at any depth and without recursion. */
export function eachMember(value: unknown, onMember: OnMember): void {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== "object" || one === null) continue;
    if (!Array.isArray(one)) for (const name of Object.keys(one)) onMember(name);
    for (const item of Object.values(one)) if (typeof item === "object") left.push(item);
  }
}

/** `count` and the number of values in `value`, each as often as it is referred to; stops soon after `max`. */
export function countValues(value: unknown, count: number, max = MAX_VALUES): number {
  let total = count + 1;
  if (typeof value !== "object" || value === null) return total;
  for (const item of Object.values(value)) {
    total = countValues(item, total, max);
    if (total > max) break;
  }
  return total;
}
