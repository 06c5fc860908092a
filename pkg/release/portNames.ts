import { isObject } from "../api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";

/** A name that a container port had before its entry was dropped, and the number it stood for. */
export interface LostPortName {
  name: string;
  port: unknown;
}

/** `value` with every probe and lifecycle handler that names a lost port naming its number instead. */
export function withPortNumbers(value: unknown, lost: readonly LostPortName[]): unknown {
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
export function withTargetNumbers(
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
