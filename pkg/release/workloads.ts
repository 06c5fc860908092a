import { getGroup, type JsonObject, type KubeObject, type ObjectRef } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { describeObject, getObjectKey } from "./identity.ts";

/** The fields that identify a list entry, with the default of an absent field. */
type ListKey = readonly (readonly [member: string, absent: string])[];

/**
 * The lists of Pods that server-side apply treats as maps, although a create accepts repeated keys in them.
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

/** A list entry that was dropped because a later one has the same key. */
interface DroppedEntry {
  /** Name of the container, such as `container "manager"`; empty for a list of the Pod itself. */
  container: string;
  list: string;
  entry: JsonObject;
  /** The entry that is kept. */
  kept: JsonObject;
}

/** Removes all but the last entry of each repeated key, and returns the dropped ones. */
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

/** Removes all but the last entry of each repeated key from one list. */
function collapseList(list: readonly unknown[], members: ListKey, onDrop: (entry: JsonObject, kept: JsonObject) => void): unknown[] {
  const last = new Map<string, JsonObject>();
  for (const entry of list) if (isObject(entry)) last.set(getEntryKey(entry, members), entry);
  return list.filter((entry) => {
    if (!isObject(entry)) return true;
    const kept = last.get(getEntryKey(entry, members));
    if (kept === undefined || kept === entry) return true;
    onDrop(entry, kept);
    return false;
  });
}

/** Formats a dropped entry, such as `container "manager": env "A" is set more than once, the last entry is used`. */
function describeDrop({ container, list, entry }: DroppedEntry): string {
  const members = CONTAINER_LISTS[list] ?? POD_LISTS[list] ?? [["name", ""]];
  const key = members.map(([member, absent]) => toText(entry[member] ?? absent)).join("/");
  return `${container === "" ? "" : `${container}: `}${list} "${key.slice(0, LISTED_VALUE)}" is set more than once, the last entry is used`;
}

function collapseLists(from: JsonObject, lists: Readonly<Record<string, ListKey>>, container: string, dropped: DroppedEntry[]): JsonObject {
  const to = { ...from };
  for (const [list, members] of Object.entries(lists)) {
    const entries = from[list];
    if (Array.isArray(entries)) to[list] = collapseList(entries, members, (entry, kept) => dropped.push({ container, list, entry, kept }));
  }
  return to;
}

function getEntryKey(entry: JsonObject, members: ListKey): string {
  return JSON.stringify(members.map(([member, absent]) => toText(entry[member] ?? absent)));
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A port name that was lost with a dropped entry, and its number. */
interface LostPortName {
  name: string;
  port: unknown;
}

/** Replaces lost port names in probes and lifecycle handlers with numbers. */
function replacePortNames(value: unknown, lost: readonly LostPortName[]): unknown {
  if (lost.length === 0) return value;
  if (Array.isArray(value)) return value.map((entry: unknown) => replacePortNames(entry, lost));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, content]) =>
      (member === "httpGet" || member === "tcpSocket") && isObject(content)
        ? [member, { ...content, port: numberFor(content["port"], lost) }]
        : [member, replacePortNames(content, lost)],
    ),
  );
}

/**
 * Replaces lost port names in the target ports of `service` with numbers.
 * @param lostIn lost names of workloads in the same set, with the labels and namespace of their Pods
 */
function replaceTargetPorts(
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

/** Objects and their adjustments, one sentence each. */
export interface Adjusted {
  objects: KubeObject[];
  notes: string[];
}

/**
 * Removes all but the last list entry of each repeated key: a create accepts repeated keys, a server-side apply does not. If the name of a container
 * port is lost, replaces it with the port number in probes and in Services of the set.
 */
export function collapseDuplicates(objects: readonly KubeObject[]): Adjusted {
  const notes: string[] = [];
  const lostIn: { namespace: string | undefined; labels: JsonObject; lost: readonly LostPortName[] }[] = [];
  const collapsed = objects.map((object) => {
    const listed = collapseOwnLists(object, notes);
    const template = getPodTemplate(listed);
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
    return template.withPodSpec(replacePortNames(spec, lost) as JsonObject);
  });
  return { objects: lostIn.length === 0 ? collapsed : collapsed.map((object) => replaceTargetPorts(object, lostIn)), notes };
}

/** Removes `replicas` from workloads that a HorizontalPodAutoscaler of the same set targets. */
export function removeScaledReplicas(objects: readonly KubeObject[]): Adjusted {
  const scaled = new Set(objects.filter((object) => object.kind === "HorizontalPodAutoscaler").map(getTarget));
  const notes: string[] = [];
  const released = objects.map((object) => {
    const spec = object["spec"];
    if (!scaled.has(getObjectKey(object)) || !isObject(spec) || !("replicas" in spec)) return object;
    const { replicas: _, ...rest } = spec;
    notes.push(`${describeObject(object)}: replicas are managed by its HorizontalPodAutoscaler`);
    return { ...object, spec: rest };
  });
  return { objects: released, notes };
}

function getTarget(autoscaler: KubeObject): string {
  const spec = autoscaler["spec"];
  const { apiVersion, kind, name } = (isObject(spec) ? (spec["scaleTargetRef"] ?? {}) : {}) as Partial<ObjectRef>;
  return getObjectKey({ apiVersion: apiVersion ?? "", kind: kind ?? "", name: name ?? "", namespace: autoscaler.metadata.namespace });
}

function collapseOwnLists(object: KubeObject, notes: string[]): KubeObject {
  let result = object;
  const { finalizers } = object.metadata;
  if (finalizers && new Set(finalizers).size < finalizers.length) {
    result = { ...result, metadata: { ...object.metadata, finalizers: [...new Set(finalizers)] } };
    notes.push(`${describeObject(object)}: finalizers contain duplicates, which are removed`);
  }
  const secrets = object["secrets"];
  if (object.kind === "ServiceAccount" && getGroup(object.apiVersion) === "" && Array.isArray(secrets)) {
    const onDrop = (entry: JsonObject): unknown =>
      notes.push(`${describeObject(object)}: ${describeDrop({ container: "", list: "secrets", entry, kept: entry })}`);
    result = { ...result, secrets: collapseList(secrets, [["name", ""]], onDrop) };
  }
  return result;
}

/** Returns the Pod template of a workload, and a function that replaces its Pod spec. */
function getPodTemplate(
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
