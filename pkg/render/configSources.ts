import { VALUES_KEY, type ValuesSource } from "../api/extensionConfig.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { countSeparators } from "../bundle/limits.ts";
import { isObject } from "../golang/members.ts";
import { parseYaml } from "../golang/yaml.ts";
import { CONFIG_LIMITS, configSizeFault } from "./configLimits.ts";

/**
 * What a source of configuration comes to. `missing`: it is waited for; `invalid`: somebody has to change it. Texts begin with a noun and hold
 * nothing of what the source holds.
 */
type SourceValues =
  | { readonly kind: "values"; readonly values: JsonObject }
  | { readonly kind: "missing" | "invalid"; readonly text: string };

/** How much the texts of sources may hold, see `CONFIG_LIMITS`. */
interface TextRoom {
  bytes: number;
  separators: number;
}

/**
 * The values that a source of `namespace` holds; none of an optional one where object or key do not exist.
 * @param object as it was read; undefined where it does not exist.
 * @param room what the text may hold, and less of it afterwards. What does not fit is not parsed.
 */
function valuesOf(source: ValuesSource, namespace: string, object: KubeObject | undefined, room: TextRoom): SourceValues {
  const { kind, name, key = VALUES_KEY, optional = false } = source;
  const owner = `${kind} ${namespace}/${name}`;
  const lacking = (what: string): SourceValues =>
    optional ? { kind: "values", values: {} } : { kind: "missing", text: `${what}: create it, or set optional` };
  if (!object) return lacking(`${owner} does not exist`);
  const bytes = bytesAt(object, key);
  if (!bytes) return lacking(`${owner} has no key "${key}"`);
  const invalid = (fault: string): SourceValues => ({ kind: "invalid", text: `key "${key}" of ${owner} ${fault}` });
  if (bytes.length > room.bytes)
    return invalid(`holds ${bytes.length} bytes: all sources may hold ${CONFIG_LIMITS.bytes} together, and ${room.bytes} are left`);
  const separators = countSeparators(bytes, room.separators);
  if (separators > room.separators)
    return invalid(
      `holds too many lines, list items and members: all sources may hold ${CONFIG_LIMITS.separators} together, and ${room.separators} are left`,
    );
  room.bytes -= bytes.length;
  room.separators -= separators;
  const text = textFrom(bytes);
  if (text === undefined) return invalid("holds no UTF-8 text");
  let values: unknown;
  try {
    values = parseYaml(text);
  } catch (err) {
    return invalid(`holds no single YAML or JSON document${placeOf(err)}`);
  }
  if (values === null) return { kind: "values", values: {} };
  if (!isObject(values)) return invalid(`holds ${Array.isArray(values) ? "a list" : `a ${typeof values}`}, where an object is expected`);
  const tooLarge = configSizeFault(values);
  return tooLarge ? invalid(`is too large: ${tooLarge.limit}`) : { kind: "values", values };
}

/** What stands under a key of a ConfigMap or Secret. */
function bytesAt(object: KubeObject, key: string): Buffer | undefined {
  const data = memberOf(object["data"], key);
  if (data !== undefined) return Buffer.from(data, object.kind === "Secret" ? "base64" : "utf8");
  const binary = memberOf(object["binaryData"], key);
  return binary === undefined ? undefined : Buffer.from(binary, "base64");
}

function memberOf(data: unknown, key: string): string | undefined {
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

/** Where the parser stopped; its message would quote what stands there. */
function placeOf(err: unknown): string {
  const mark = isObject(err) ? err["mark"] : undefined;
  const { line, column } = isObject(mark) ? mark : {};
  return typeof line === "number" && typeof column === "number" ? ` (line ${line + 1}, column ${column + 1})` : "";
}

/**
 * `over` merged over `under`: objects member by member, everything else, lists included, as a whole. A member that is null in `over` is in
 * neither. The parameters stay as they are; the answer may share parts with them.
 * @see https://www.rfc-editor.org/rfc/rfc7396 JSON Merge Patch, which Helm's merging of values amounts to
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
 * The strings and numbers in a JSON value as texts, each once; names of members, truth values and null are not among them.
 * @param max stop after so many.
 */
export function scalarTexts(value: unknown, max = Number.POSITIVE_INFINITY): Set<string> {
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

/** A source of configuration and the object that it names, as it was read; undefined where there is none. */
export interface ReadSource {
  readonly source: ValuesSource;
  readonly object: KubeObject | undefined;
}

/** `spec.config` with its sources. */
export interface MergedConfig {
  /** Absent where a source is at fault. */
  readonly config?: JsonObject;
  /** What is wrong, a sentence each, with nothing of what the sources hold; those that are only waited for are `missing`. */
  readonly missing: readonly string[];
  readonly invalid: readonly string[];
  /** All strings and numbers that the sources hold. */
  readonly texts: ReadonlySet<string>;
}

/** So many different strings and numbers may stand in all sources together: each of them is looked for in everything that is shown. */
const MAX_TEXTS = 2_000;

/**
 * The sources merged in their order, each over those before it, and `inline` over all of them. Their texts are
 * bounded together, before any is parsed, and the values of each.
 * @param inline within `CONFIG_LIMITS`. What it comes to with the sources may be larger.
 */
export function mergedConfig(sources: readonly ReadSource[], namespace: string, inline: JsonObject | undefined): MergedConfig {
  const room: TextRoom = { bytes: CONFIG_LIMITS.bytes, separators: CONFIG_LIMITS.separators };
  const read = sources.map(({ source, object }) => valuesOf(source, namespace, object, room));
  const said = (wanted: "missing" | "invalid"): string[] =>
    read.flatMap((values, i) => (values.kind === wanted ? [`spec.config.valuesFrom[${i}]: ${values.text}`] : []));
  const values = read.flatMap((one) => (one.kind === "values" ? [one.values] : []));
  const texts = scalarTexts(values, MAX_TEXTS + 1);
  const [missing, invalid] = [said("missing"), said("invalid")];
  if (texts.size > MAX_TEXTS) invalid.push(`spec.config.valuesFrom: the sources hold more than ${MAX_TEXTS} different values`);
  if (missing.length + invalid.length > 0) return { missing, invalid, texts };
  return { config: [...values, inline ?? {}].reduce(mergeValues, {}), missing, invalid, texts };
}
