import { randomBytes } from "node:crypto";
import type { KubeObject } from "../../pkg/api/k8s.ts";

/** The content of an Event. */
export interface EventFixture {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Component that reports the Event. Default: kubelet. */
  readonly component?: string;
  /** Default 1. */
  readonly count?: number;
}

/** Returns an Event about an object. */
export function buildEvent(about: KubeObject, event: EventFixture, node?: string): KubeObject {
  const { apiVersion, kind, metadata } = about;
  const { type, reason, message, component = "kubelet", count = 1 } = event;
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const { name, namespace = "default", uid, resourceVersion } = metadata;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${randomBytes(8).toString("hex")}`, namespace },
    involvedObject: { apiVersion, kind, name, namespace: metadata.namespace, uid, resourceVersion },
    type,
    reason,
    message,
    count,
    source: { component, ...(node === undefined ? {} : { host: node }) },
    reportingComponent: component,
    reportingInstance: node ?? "",
    firstTimestamp: now,
    lastTimestamp: now,
  };
}

/** Returns the Events of a scheduler and a kubelet about a Pod with this status. */
export function listPodEvents(pod: KubeObject, node: string): KubeObject[] {
  const { containers = [] } = pod["spec"] as { containers?: { name: string; image?: string }[] };
  const { containerStatuses = [] } = (pod["status"] ?? {}) as {
    containerStatuses?: { name: string; lastState?: { terminated?: object } }[];
  };
  const { name, namespace = "", uid = "" } = pod.metadata;
  const crashing = new Set(containerStatuses.flatMap(({ name: container, lastState }) => (lastState?.terminated ? [container] : [])));
  const events: EventFixture[] = [
    {
      type: "Normal",
      reason: "Scheduled",
      component: "default-scheduler",
      message: `Successfully assigned ${namespace}/${name} to ${node}`,
    },
    ...containers.flatMap(({ name: container, image = "" }): EventFixture[] => [
      { type: "Normal", reason: "Pulled", message: `Container image "${image}" already present on machine` },
      { type: "Normal", reason: "Created", message: `Created container: ${container}` },
      { type: "Normal", reason: "Started", message: `Started container ${container}` },
      ...(crashing.has(container)
        ? [
            {
              type: "Warning" as const,
              reason: "BackOff",
              message: `Back-off restarting failed container ${container} in pod ${name}_${namespace}(${uid})`,
              count: 6,
            },
          ]
        : []),
    ]),
  ];
  return events.map((event) => buildEvent({ ...pod, apiVersion: "v1", kind: "Pod" }, event, node));
}
