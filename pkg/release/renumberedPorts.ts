import { FIELD_MANAGER } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { isManagedBy, mergeFieldTrees } from "./managedFields.ts";

/** Fields that identify a port in server-side apply, in addition to the protocol: the first for a Service, the second for a container. */
const NUMBERS = ["port", "containerPort"] as const;
const LISTS_OF_NAMED = new Set(["containers", "initContainers"]);

/** The correction of ports of a live object whose number another manager changed. */
export interface RenumberedPorts {
  /** The managed fields after these ports are transferred to our applies, so that the next apply removes them. */
  readonly managedFields: JsonObject[];
  /** The live object with these ports as desired and owned by us, otherwise unchanged. */
  readonly after: KubeObject;
}

/** Path elements in a tree of managed fields. */
type FieldPath = readonly string[];

/** The paths of a live port and of the desired port that it replaces. */
interface PortPaths {
  readonly live: FieldPath;
  readonly desired: FieldPath;
}

/**
 * Finds ports with the name of a desired port whose number or protocol another manager changed. Server-side apply treats them as different ports and
 * keeps them. Adding the desired ports would then duplicate the names, so the API server rejects the apply. Undefined if there are none, or we never
 * applied the object.
 * @see k8s.io/api v0.36.3 core/v1/types.go, markers listMapKey of ServiceSpec.ports and Container.ports
 */
export function findRenumberedPorts(desiredValue: KubeObject, live: KubeObject): RenumberedPorts | undefined {
  const found: PortPaths[] = [];
  const { managedFields: before = [], ...metadata } = live.metadata;
  const after = mendPorts(desiredValue, { ...live, metadata }, [], found) as KubeObject;
  if (found.length === 0 || !before.some(isOurs)) return undefined;
  const managedFields = found.reduce<JsonObject[]>((entries, port) => transferFields(entries, port.live), before);
  const owned = found.reduce<JsonObject>((fields, port) => mergeFieldTrees(fields, buildTree(port.desired)), {});
  return { managedFields, after: { ...after, metadata: { ...metadata, managedFields: withOurs(managedFields, owned) } } };
}

function isOurs(entry: JsonObject): boolean {
  return isManagedBy(entry, FIELD_MANAGER, "Apply");
}

/** Returns `live` with the desired ports instead of live ports with the same names, which are added to `found`. */
function mendPorts(desiredValue: unknown, live: unknown, path: FieldPath, found: PortPaths[]): unknown {
  if (!isObject(desiredValue) || !isObject(live)) return live;
  return Object.fromEntries(
    Object.entries(live).map(([member, there]) => {
      const ours = desiredValue[member];
      const inner = [...path, `f:${member}`];
      if (!Array.isArray(there) || !Array.isArray(ours)) return [member, mendPorts(ours, there, inner, found)];
      if (member === "ports") return [member, mendPortList(ours, there, inner, found)];
      if (!LISTS_OF_NAMED.has(member)) return [member, there];
      const items = there.map((item: unknown) => {
        const name = isObject(item) ? item["name"] : undefined;
        const same = ours.find((other) => isObject(other) && other["name"] === name);
        return mendPorts(same, item, [...inner, `k:${JSON.stringify({ name })}`], found);
      });
      return [member, items];
    }),
  );
}

function mendPortList(desiredValue: readonly unknown[], live: readonly unknown[], path: FieldPath, found: PortPaths[]): unknown[] {
  const keys = new Set(desiredValue.map(getPortKey));
  return live.map((port) => {
    const key = getPortKey(port);
    const same = keys.has(key) ? undefined : desiredValue.find((other) => haveSameName(other, port));
    const wantedKey = getPortKey(same);
    if (key === undefined || wantedKey === undefined || !isObject(port) || !isObject(same)) return port;
    found.push({ live: [...path, key], desired: [...path, wantedKey] });
    return { ...port, ...same };
  });
}

/** Formats the key of a port in managed fields. */
function getPortKey(port: unknown): string | undefined {
  const member = isObject(port) ? NUMBERS.find((name) => name in port) : undefined;
  if (member === undefined || !isObject(port)) return undefined;
  return `k:${JSON.stringify({ [member]: port[member], protocol: port["protocol"] ?? "TCP" })}`;
}

/** A Service can have only one port without a name; containers can have several. */
function haveSameName(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b) || a["name"] !== b["name"]) return false;
  return a["name"] !== undefined || "port" in b;
}

/** Transfers everything at `path` from other managers to our applies. */
function transferFields(managedFields: readonly JsonObject[], path: FieldPath): JsonObject[] {
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

function buildTree(path: FieldPath): JsonObject {
  return path.reduceRight<JsonObject>((inner, step) => ({ [step]: inner }), {});
}

/** Removes the subtree at `path`. `cut` is the removed subtree, or undefined if it does not exist. */
function cutOut(fields: JsonObject, [step = "", ...deeper]: FieldPath): { rest: JsonObject; cut?: JsonObject } {
  const { [step]: child, ...others } = fields;
  if (!isObject(child)) return { rest: fields };
  if (deeper.length === 0) return { rest: others, cut: { [step]: child } };
  const { rest, cut } = cutOut(child, deeper);
  return cut ? { rest: { ...others, [step]: rest }, cut: { [step]: cut } } : { rest: fields };
}
