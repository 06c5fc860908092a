import { FIELD_MANAGER } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { isEntryOf, mergeFieldTrees } from "./managedFields.ts";

/** Members that name a port among others, as server-side apply sees it; a Service has the first, a container the second. */
const NUMBERS = ["port", "containerPort"] as const;
const LISTS_OF_NAMED = new Set(["containers", "initContainers"]);

/** What has to be done about ports of a live object that others gave another number. */
export interface Supplanted {
  /** The fields of these ports in the hands of our applies, so that the next one removes them. */
  readonly managedFields: JsonObject[];
  /** The live object with these ports as they are wanted, in our hands, and nothing else changed. */
  readonly after: KubeObject;
}

/** Elements of a tree of managed fields, from the outside in. */
type FieldPath = readonly string[];

/** A port that is there in place of a wanted one. */
interface Found {
  readonly live: FieldPath;
  readonly wanted: FieldPath;
}

/**
 * Ports that somebody gave another number or protocol while they keep the name of a wanted one. To server-side apply they are other ports, which it
 * leaves to whoever wrote them; beside them ours would have a name that is taken, so that the API server refuses the apply.
 * Undefined where there are none, or we never applied the object.
 * @see k8s.io/api v0.36.3 core/v1/types.go, markers listMapKey of ServiceSpec.ports and Container.ports
 */
export function supplantedPorts(wanted: KubeObject, live: KubeObject): Supplanted | undefined {
  const found: Found[] = [];
  const { managedFields: before = [], ...metadata } = live.metadata;
  const after = mended(wanted, { ...live, metadata }, [], found) as KubeObject;
  if (found.length === 0 || !before.some(isOurs)) return undefined;
  const managedFields = found.reduce<JsonObject[]>((entries, port) => handedOverAt(entries, port.live), before);
  const owned = found.reduce<JsonObject>((fields, port) => mergeFieldTrees(fields, treeOf(port.wanted)), {});
  return { managedFields, after: { ...after, metadata: { ...metadata, managedFields: withOurs(managedFields, owned) } } };
}

function isOurs(entry: JsonObject): boolean {
  return isEntryOf(entry, FIELD_MANAGER, "Apply");
}

/** `live` with wanted ports in place of those that have their names; what they take the place of is added to `found`. */
function mended(wanted: unknown, live: unknown, path: FieldPath, found: Found[]): unknown {
  if (!isObject(wanted) || !isObject(live)) return live;
  return Object.fromEntries(
    Object.entries(live).map(([member, there]) => {
      const ours = wanted[member];
      const inner = [...path, `f:${member}`];
      if (!Array.isArray(there) || !Array.isArray(ours)) return [member, mended(ours, there, inner, found)];
      if (member === "ports") return [member, mendedPorts(ours, there, inner, found)];
      if (!LISTS_OF_NAMED.has(member)) return [member, there];
      const items = there.map((item: unknown) => {
        const name = isObject(item) ? item["name"] : undefined;
        const same = ours.find((other) => isObject(other) && other["name"] === name);
        return mended(same, item, [...inner, `k:${JSON.stringify({ name })}`], found);
      });
      return [member, items];
    }),
  );
}

function mendedPorts(wanted: readonly unknown[], live: readonly unknown[], path: FieldPath, found: Found[]): unknown[] {
  const keys = new Set(wanted.map(keyOf));
  return live.map((port) => {
    const key = keyOf(port);
    const same = keys.has(key) ? undefined : wanted.find((other) => haveSameName(other, port));
    const wantedKey = keyOf(same);
    if (key === undefined || wantedKey === undefined || !isObject(port) || !isObject(same)) return port;
    found.push({ live: [...path, key], wanted: [...path, wantedKey] });
    return { ...port, ...same };
  });
}

/** How managed fields call a port. */
function keyOf(port: unknown): string | undefined {
  const member = isObject(port) ? NUMBERS.find((name) => name in port) : undefined;
  if (member === undefined || !isObject(port)) return undefined;
  return `k:${JSON.stringify({ [member]: port[member], protocol: port["protocol"] ?? "TCP" })}`;
}

/** A Service has one port without a name at most; containers may have several. */
function haveSameName(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b) || a["name"] !== b["name"]) return false;
  return a["name"] !== undefined || "port" in b;
}

/** What all but our applies own at `path` becomes what our applies own. */
function handedOverAt(managedFields: readonly JsonObject[], path: FieldPath): JsonObject[] {
  let taken: JsonObject = {};
  const left = managedFields.map((entry) => {
    const fields = entry["fieldsV1"];
    if (isOurs(entry) || !isObject(fields)) return entry;
    const { rest, cut } = cutOut(fields, path);
    if (cut) taken = mergeFieldTrees(taken, cut);
    return cut ? { ...entry, fieldsV1: rest } : entry;
  });
  return withOurs(left, taken);
}

function withOurs(managedFields: readonly JsonObject[], owned: JsonObject): JsonObject[] {
  return managedFields.map((entry) => {
    const fields = entry["fieldsV1"];
    return isOurs(entry) ? { ...entry, fieldsV1: mergeFieldTrees(isObject(fields) ? fields : {}, owned) } : entry;
  });
}

function treeOf(path: FieldPath): JsonObject {
  return path.reduceRight<JsonObject>((inner, step) => ({ [step]: inner }), {});
}

/** A tree of fields without what is at `path`, and that alone; without `cut` where there is nothing. */
function cutOut(fields: JsonObject, [step = "", ...deeper]: FieldPath): { rest: JsonObject; cut?: JsonObject } {
  const { [step]: child, ...others } = fields;
  if (!isObject(child)) return { rest: fields };
  if (deeper.length === 0) return { rest: others, cut: { [step]: child } };
  const { rest, cut } = cutOut(child, deeper);
  return cut ? { rest: { ...others, [step]: rest }, cut: { [step]: cut } } : { rest: fields };
}
