import { VALUES_KEY, type ValuesSource } from "../../api/extensionConfig.ts";
import { isObject } from "../../api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { countSeparators } from "../../bundle/limits.ts";
import { parseYaml } from "../../golang/yaml.ts";
import { CONFIG_LIMITS, configSizeFault } from "../configLimits.ts";

/**
 * What a source of configuration comes to. `missing`: it is waited for; `invalid`: somebody has to change it. Texts begin with a noun and hold
 * nothing of what the source holds.
 */
export type SourceValues =
  | { readonly kind: "values"; readonly values: JsonObject }
  | { readonly kind: "missing" | "invalid"; readonly text: string };

/** How much the texts of sources may hold, see `CONFIG_LIMITS`. */
export interface TextRoom {
  bytes: number;
  separators: number;
}

/**
 * The values that a source of `namespace` holds; none of an optional one where object or key do not exist.
 * @param object as it was read; undefined where it does not exist.
 * @param room what the text may hold, and less of it afterwards. What does not fit is not parsed.
 */
export function valuesOf(source: ValuesSource, namespace: string, object: KubeObject | undefined, room: TextRoom): SourceValues {
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
