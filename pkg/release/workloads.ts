import { groupOf, type JsonObject, type KubeObject, type ObjectRef } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { describeObject, objectKey } from "./identity.ts";

/** Which members together name an entry of a list, with the value of a member that is absent. */
type ListKey = readonly (readonly [member: string, absent: string])[];

/**
 * The lists of Pods that an apply reads as maps and a plain create accepts with repeated keys.
 * @see k8s.io/api v0.36.3 core/v1/types.go, markers listMapKey
 */
const CONTAINER_LISTS: Readonly<Record<string, ListKey>> = {
  env: [["name", ""]],
  ports: [
    ["containerPort", ""],
    ["protocol", "TCP"],
  ],
  volumeMounts: [["mountPath", ""]],
  volumeDevices: [["devicePath", ""]],
};
const POD_LISTS: Readonly<Record<string, ListKey>> = {
  imagePullSecrets: [["name", ""]],
  hostAliases: [["ip", ""]],
};
const CONTAINERS = ["initContainers", "containers"] as const;
const LISTED_VALUE = 80;

/** A list entry that was dropped in favour of a later one with the same key. */
interface DroppedEntry {
  /** Such as `container "manager"`; empty for a list of the Pod itself. */
  container: string;
  list: string;
  entry: JsonObject;
  /** The entry that stays. */
  kept: JsonObject;
}

/** `spec` with every repeated key collapsed to its last entry, and what was dropped for that. */
function collapsePodSpec(spec: JsonObject): { spec: JsonObject; dropped: DroppedEntry[] } {
  const dropped: DroppedEntry[] = [];
  const pod = collapseLists(spec, POD_LISTS, "", dropped);
  for (const list of CONTAINERS) {
    const containers = pod[list];
    if (!Array.isArray(containers)) continue;
    pod[list] = containers.map((container: unknown) =>
      isObject(container) ? collapseLists(container, CONTAINER_LISTS, `container "${String(container["name"])}"`, dropped) : container,
    );
  }
  return { spec: pod, dropped };
}

/** One list with every repeated key collapsed to its last entry. */
function collapseList(list: readonly unknown[], members: ListKey, onDrop: (entry: JsonObject, kept: JsonObject) => void): unknown[] {
  const last = new Map<string, JsonObject>();
  for (const entry of list) if (isObject(entry)) last.set(keyOf(entry, members), entry);
  return list.filter((entry) => {
    if (!isObject(entry)) return true;
    const kept = last.get(keyOf(entry, members));
    if (kept === undefined || kept === entry) return true;
    onDrop(entry, kept);
    return false;
  });
}

/** Such as `container "manager": env "A" is given more than once, the last one counts`. */
function describeDrop({ container, list, entry }: DroppedEntry): string {
  const members = CONTAINER_LISTS[list] ?? POD_LISTS[list] ?? [["name", ""]];
  const key = members.map(([member, absent]) => textOf(entry[member] ?? absent)).join("/");
  return `${container === "" ? "" : `${container}: `}${list} "${key.slice(0, LISTED_VALUE)}" is given more than once, the last one counts`;
}

function collapseLists(from: JsonObject, lists: Readonly<Record<string, ListKey>>, container: string, dropped: DroppedEntry[]): JsonObject {
  const to = { ...from };
  for (const [list, members] of Object.entries(lists)) {
    const entries = from[list];
    if (Array.isArray(entries)) to[list] = collapseList(entries, members, (entry, kept) => dropped.push({ container, list, entry, kept }));
  }
  return to;
}

function keyOf(entry: JsonObject, members: ListKey): string {
  return JSON.stringify(members.map(([member, absent]) => textOf(entry[member] ?? absent)));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A name that a container port had before its entry was dropped, and the number it stood for. */
interface LostPortName {
  name: string;
  port: unknown;
}

/** `value` with every probe and lifecycle handler that names a lost port naming its number instead. */
function withPortNumbers(value: unknown, lost: readonly LostPortName[]): unknown {
  if (lost.length === 0) return value;
  if (Array.isArray(value)) return value.map((entry: unknown) => withPortNumbers(entry, lost));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, content]) =>
      (member === "httpGet" || member === "tcpSocket") && isObject(content)
        ? [member, { ...content, port: numberFor(content["port"], lost) }]
        : [member, withPortNumbers(content, lost)],
    ),
  );
}

/**
 * `service` with target ports that name a lost port as numbers.
 * @param lostIn of the workloads of the same set, with the labels of their Pods and their namespace.
 */
function withTargetNumbers(
  service: KubeObject,
  lostIn: readonly { namespace: string | undefined; labels: JsonObject; lost: readonly LostPortName[] }[],
): KubeObject {
  const spec = service["spec"];
  if (service.kind !== "Service" || !isObject(spec) || !Array.isArray(spec["ports"]) || !isObject(spec["selector"])) return service;
  const selector = Object.entries(spec["selector"]);
  const lost = lostIn
    .filter(({ namespace, labels }) => namespace === service.metadata.namespace && selector.every(([key, value]) => labels[key] === value))
    .flatMap((workload) => workload.lost);
  if (lost.length === 0) return service;
  const ports = spec["ports"].map((port: unknown) =>
    isObject(port) && "targetPort" in port ? { ...port, targetPort: numberFor(port["targetPort"], lost) } : port,
  );
  return { ...service, spec: { ...spec, ports } };
}

function numberFor(port: unknown, lost: readonly LostPortName[]): unknown {
  return lost.find(({ name }) => name === port)?.port ?? port;
}

/** Objects and what was changed in them, one sentence a change. */
export interface Adjusted {
  objects: KubeObject[];
  notes: string[];
}

/**
 * Collapses list entries that repeat a key to the last one: a create accepts them, an apply does not.
 * Where a container port loses its name that way, probes and Services of the set that use the name get the number.
 */
export function collapseDuplicates(objects: readonly KubeObject[]): Adjusted {
  const notes: string[] = [];
  const lostIn: { namespace: string | undefined; labels: JsonObject; lost: readonly LostPortName[] }[] = [];
  const collapsed = objects.map((object) => {
    const listed = collapseOwnLists(object, notes);
    const template = templateOf(listed);
    if (!template) return listed;
    const { spec, dropped } = collapsePodSpec(template.podSpec);
    if (dropped.length === 0) return listed;
    notes.push(...dropped.map((drop) => `${describeObject(object)}: ${describeDrop(drop)}`));
    const lost = dropped.flatMap(({ list, entry, kept }): LostPortName[] =>
      list === "ports" && typeof entry["name"] === "string" && entry["name"] !== kept["name"]
        ? [{ name: entry["name"], port: entry["containerPort"] }]
        : [],
    );
    if (lost.length > 0) lostIn.push({ namespace: object.metadata.namespace, labels: template.labels, lost });
    return template.withPodSpec(withPortNumbers(spec, lost) as JsonObject);
  });
  return { objects: lostIn.length === 0 ? collapsed : collapsed.map((object) => withTargetNumbers(object, lostIn)), notes };
}

/** Leaves `replicas` to the HorizontalPodAutoscaler of the same set that targets a workload. */
export function releaseReplicas(objects: readonly KubeObject[]): Adjusted {
  const scaled = new Set(objects.filter((object) => object.kind === "HorizontalPodAutoscaler").map(targetOf));
  const notes: string[] = [];
  const released = objects.map((object) => {
    const spec = object["spec"];
    if (!scaled.has(objectKey(object)) || !isObject(spec) || !("replicas" in spec)) return object;
    const { replicas: _, ...rest } = spec;
    notes.push(`${describeObject(object)}: replicas are left to its HorizontalPodAutoscaler`);
    return { ...object, spec: rest };
  });
  return { objects: released, notes };
}

function targetOf(autoscaler: KubeObject): string {
  const spec = autoscaler["spec"];
  const { apiVersion, kind, name } = (isObject(spec) ? (spec["scaleTargetRef"] ?? {}) : {}) as Partial<ObjectRef>;
  return objectKey({ apiVersion: apiVersion ?? "", kind: kind ?? "", name: name ?? "", namespace: autoscaler.metadata.namespace });
}

function collapseOwnLists(object: KubeObject, notes: string[]): KubeObject {
  let result = object;
  const { finalizers } = object.metadata;
  if (finalizers && new Set(finalizers).size < finalizers.length) {
    result = { ...result, metadata: { ...object.metadata, finalizers: [...new Set(finalizers)] } };
    notes.push(`${describeObject(object)}: finalizers are given more than once, they count once`);
  }
  const secrets = object["secrets"];
  if (object.kind === "ServiceAccount" && groupOf(object.apiVersion) === "" && Array.isArray(secrets)) {
    const onDrop = (entry: JsonObject): unknown =>
      notes.push(`${describeObject(object)}: ${describeDrop({ container: "", list: "secrets", entry, kept: entry })}`);
    result = { ...result, secrets: collapseList(secrets, [["name", ""]], onDrop) };
  }
  return result;
}

/** The Pod template of a workload, with a way to put a changed Pod spec back. */
function templateOf(
  object: KubeObject,
): { podSpec: JsonObject; labels: JsonObject; withPodSpec(podSpec: JsonObject): KubeObject } | undefined {
  const spec = object["spec"];
  const template = isObject(spec) ? spec["template"] : undefined;
  if (!isObject(spec) || !isObject(template) || !isObject(template["spec"])) return undefined;
  const metadata = isObject(template["metadata"]) ? template["metadata"] : {};
  return {
    podSpec: template["spec"],
    labels: isObject(metadata["labels"]) ? metadata["labels"] : {},
    withPodSpec: (podSpec) => ({ ...object, spec: { ...spec, template: { ...template, spec: podSpec } } }),
  };
}
