import { canonicalJson } from "../fbc/canonical.ts";
import { numberToken } from "../fbc/numberTokens.ts";
import { toYaml } from "../fbc/yaml.ts";

/** How the values around a change are written. */
export interface Surroundings {
  /** JSON texts: quoted keys, in braces. */
  readonly json: boolean;
  /** Of a level in JSON over several lines; 0 for all on one line. */
  readonly indent: number;
  /** Of lists in block style, which stand no deeper than their keys. */
  readonly compactLists: boolean;
}

/** Whether lists that are members stand no deeper than their keys in a text of YAML. */
export function hasCompactLists(text: string): boolean {
  return /^([ \t]*)[^\s#-][^\n#]*:[ \t]*(?:#[^\n]*)?\n\1- /m.test(text);
}

/** `key: value` in block style, lines after the first indented by `column`. */
export function blockMember(key: string, value: unknown, column: number, style: Surroundings): string {
  return indented(toYaml({ [key]: value }, style), column);
}

/** `- value` in block style, lines after the first indented by `column`. */
export function blockItem(value: unknown, column: number, style: Surroundings): string {
  return indented(toYaml([value], style), column);
}

/** What stands behind `key:` in block style, a blank or newline first. */
export function behindKey(value: unknown, column: number, style: Surroundings): string {
  return blockMember("k", value, column, style).slice("k:".length);
}

/** What stands behind the dash of an item in block style, a blank first. */
export function behindDash(value: unknown, column: number, style: Surroundings): string {
  return blockItem(value, column, style).slice("-".length);
}

/** `value` inside brackets: as JSON, over several lines where `column`, that of its first character, is given; else as YAML on one line. */
export function flowValue(value: unknown, column: number | undefined, { json, indent }: Surroundings): string {
  // By itself a text may hold what ends it inside brackets.
  if (!json) return toYaml([value], { flow: true }).trimEnd().slice(1, -1);
  return column === undefined || indent === 0 ? oneLineJson(value, indent > 0) : indented(prettyJson(value, indent), column);
}

/** `value` as JSON over several lines. Numbers keep their digits. */
export function prettyJson(value: unknown, indent: number): string {
  const written = (inner: unknown, level: number): string => {
    const pad = " ".repeat(indent * (level + 1));
    const end = `\n${" ".repeat(indent * level)}`;
    if (typeof inner !== "object" || inner === null || numberToken(inner) !== undefined) return plainJson(inner);
    const members = Array.isArray(inner)
      ? inner.map((item) => written(item, level + 1))
      : Object.entries(inner).map(([key, member]) => `${JSON.stringify(key)}: ${written(member, level + 1)}`);
    const [open, close] = Array.isArray(inner) ? ["[", "]"] : ["{", "}"];
    if (members.length === 0) return open + close;
    return `${open}\n${members.map((member) => pad + member).join(",\n")}${end}${close}`;
  };
  return written(value, 0);
}

function oneLineJson(value: unknown, spaced: boolean): string {
  const comma = spaced ? ", " : ",";
  const colon = spaced ? ": " : ":";
  if (typeof value !== "object" || value === null || numberToken(value) !== undefined) return plainJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => oneLineJson(item, spaced)).join(comma)}]`;
  const members = Object.entries(value).map(([key, member]) => JSON.stringify(key) + colon + oneLineJson(member, spaced));
  return `{${members.join(comma)}}`;
}

function plainJson(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : canonicalJson(value);
}

function indented(text: string, column: number): string {
  const [first = "", ...more] = text.trimEnd().split("\n");
  const pad = " ".repeat(column);
  return [first, ...more.map((line) => (line === "" ? line : pad + line))].join("\n");
}
