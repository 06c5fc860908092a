import { VALUES_KEY, type ValuesSource } from "../api/extensionConfig.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { countSeparators } from "../bundle/limits.ts";
import { isObject } from "../golang/members.ts";
import { parseYaml } from "../golang/yaml.ts";
import { CONFIG_LIMITS, findConfigSizeFault } from "./configLimits.ts";

/**
 * The result of reading a configuration source. `missing`: the controller waits for the source; `invalid`: the user must change it. Texts contain no
 * values of the source.
 */
type SourceValues =
  | { readonly kind: "values"; readonly values: JsonObject }
  | { readonly kind: "missing" | "invalid"; readonly text: string };

/** The size that is left for the texts of other sources, see `CONFIG_LIMITS`. */
interface TextRoom {
  bytes: number;
  separators: number;
}

/**
 * Reads the values of a source in `namespace`. Returns no values if the object or key of an optional source does not exist.
 * @param object undefined if it does not exist.
 * @param room remaining size, which this call reduces by the size of the text. A text that exceeds it is not parsed.
 */
function readValues(source: ValuesSource, namespace: string, object: KubeObject | undefined, room: TextRoom): SourceValues {
  const { kind, name, key = VALUES_KEY, optional = false } = source;
  const owner = `${kind} ${namespace}/${name}`;
  const lacking = (what: string): SourceValues =>
    optional ? { kind: "values", values: {} } : { kind: "missing", text: `${what}: create it, or set optional: true` };
  if (!object) return lacking(`${owner} does not exist`);
  const bytes = bytesAt(object, key);
  if (!bytes) return lacking(`${owner} has no key "${key}"`);
  const invalid = (fault: string): SourceValues => ({ kind: "invalid", text: `key "${key}" of ${owner} ${fault}` });
  if (bytes.length > room.bytes)
    return invalid(
      `contains ${bytes.length} bytes: the maximum for all sources is ${CONFIG_LIMITS.bytes}, and only ${room.bytes} are left`,
    );
  const separators = countSeparators(bytes, room.separators);
  if (separators > room.separators)
    return invalid(
      `contains too many lines, list items and fields: the maximum for all sources is ${CONFIG_LIMITS.separators}, and only ${room.separators} are left`,
    );
  room.bytes -= bytes.length;
  room.separators -= separators;
  const text = textFrom(bytes);
  if (text === undefined) return invalid("is not UTF-8 text");
  let values: unknown;
  try {
    values = parseYaml(text);
  } catch (err) {
    return invalid(`is not a single YAML or JSON document${formatPosition(err)}`);
  }
  if (values === null) return { kind: "values", values: {} };
  if (!isObject(values)) return invalid(`contains ${Array.isArray(values) ? "a list" : `a ${typeof values}`} instead of an object`);
  const tooLarge = findConfigSizeFault(values);
  return tooLarge ? invalid(`is too large: ${tooLarge.limit}`) : { kind: "values", values };
}

/** Returns the value of a key in a ConfigMap or Secret. */
function bytesAt(object: KubeObject, key: string): Buffer | undefined {
  const data = getMember(object["data"], key);
  if (data !== undefined) return Buffer.from(data, object.kind === "Secret" ? "base64" : "utf8");
  const binary = getMember(object["binaryData"], key);
  return binary === undefined ? undefined : Buffer.from(binary, "base64");
}

function getMember(data: unknown, key: string): string | undefined {
  const found = isObject(data) && Object.hasOwn(data, key) ? data[key] : undefined;
  return typeof found === "string" ? found : undefined;
}

function textFrom(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Formats the position of a parser error. Omits its message, which would quote the text. */
function formatPosition(err: unknown): string {
  const mark = isObject(err) ? err["mark"] : undefined;
  const { line, column } = isObject(mark) ? mark : {};
  return typeof line === "number" && typeof column === "number" ? ` (line ${line + 1}, column ${column + 1})` : "";
}

/**
 * Merges `over` into `under`. Merges objects by field and replaces all other values, including lists. A null in `over` removes the field.
 * Does not change the parameters; the result can share parts of them.
 * @see https://www.rfc-editor.org/rfc/rfc7396 JSON Merge Patch, which is equivalent to the merging of values in Helm
 */
export function mergeValues(under: JsonObject, over: JsonObject): JsonObject {
  const merged = new Map(Object.entries(under));
  for (const [name, value] of Object.entries(over)) {
    if (value === null) merged.delete(name);
    else if (isObject(value)) merged.set(name, mergeValues(objectIn(merged.get(name)), value));
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/**
 * Returns the distinct strings and numbers in a JSON value as texts, without field names, booleans and null.
 * @param max maximum number of texts.
 */
export function collectScalarTexts(value: unknown, max = Number.POSITIVE_INFINITY): Set<string> {
  const found = new Set<string>();
  const waiting = [value];
  while (waiting.length > 0 && found.size < max) {
    const next = waiting.pop();
    if (Array.isArray(next)) for (const entry of next) waiting.push(entry);
    else if (isObject(next)) for (const entry of Object.values(next)) waiting.push(entry);
    else if (typeof next === "string" || typeof next === "number" || typeof next === "bigint") found.add(String(next));
  }
  return found;
}

/** A configuration source and its object; the object is undefined if it does not exist. */
export interface ReadSource {
  readonly source: ValuesSource;
  readonly object: KubeObject | undefined;
}

/** `spec.config` with its sources. */
export interface MergedConfig {
  /** Absent if a source is missing or invalid. */
  readonly config?: JsonObject;
  /** Sentences about sources to wait for, without their values. */
  readonly missing: readonly string[];
  /** Sentences about invalid sources, without their values. */
  readonly invalid: readonly string[];
  /** All strings and numbers in the sources, as texts to redact. */
  readonly texts: ReadonlySet<string>;
}

/** Maximum number of distinct strings and numbers in all sources, because redaction searches for each of them in every message. */
const MAX_TEXTS = 2_000;

/**
 * Merges the sources in order and then `inline`. Limits the total size of their texts before parsing, and the values of each source.
 * @param inline within `CONFIG_LIMITS`. The merged configuration can be larger.
 */
export function mergeConfig(sources: readonly ReadSource[], namespace: string, inline: JsonObject | undefined): MergedConfig {
  const room: TextRoom = { bytes: CONFIG_LIMITS.bytes, separators: CONFIG_LIMITS.separators };
  const read = sources.map(({ source, object }) => readValues(source, namespace, object, room));
  const listTexts = (kind: "missing" | "invalid"): string[] =>
    read.flatMap((values, i) => (values.kind === kind ? [`spec.config.valuesFrom[${i}]: ${values.text}`] : []));
  const values = read.flatMap((one) => (one.kind === "values" ? [one.values] : []));
  const texts = collectScalarTexts(values, MAX_TEXTS + 1);
  const [missing, invalid] = [listTexts("missing"), listTexts("invalid")];
  if (texts.size > MAX_TEXTS) invalid.push(`spec.config.valuesFrom: the sources contain more than ${MAX_TEXTS} different values`);
  if (missing.length + invalid.length > 0) return { missing, invalid, texts };
  return { config: [...values, inline ?? {}].reduce(mergeValues, {}), missing, invalid, texts };
}
