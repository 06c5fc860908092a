import { goQuote } from "../errors/goQuote.ts";

/** A path as a text, such as `spec.install`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[\w-]+$/.test(part)) return `${text}[${goQuote(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}
