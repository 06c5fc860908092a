import { createHash } from "node:crypto";
import { isObject } from "../api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { requirementsFrom } from "../bundle/requirements.ts";
import { RetryableError } from "../errors/errors.ts";
import { goJson } from "../fbc/canonical.ts";
import { jsonFaultIn } from "../fbc/jsonError.ts";
import { proxyFrom } from "../render/proxy.ts";
import { withoutBundleLabels } from "./bundleLabels.ts";
import { parseExactJson } from "./exactJson.ts";
import { withoutOwner } from "./ownerMarks.ts";
import { RELEASE_STATUSES, type ReleaseRecord, type ReleaseStatus } from "./record.ts";
import { rolledBackFrom } from "./rolledBack.ts";

/**
 * A release as Helm's JSON, members in the order in which Go writes them, ended by a newline:
 * the manifest holds one object a line; the chart holds each object as it was rendered, with a template that prints it.
 * `properties`, `requirements`, `inputDigest`, `imageDigest`, `proxy`, `cautions`, `flaws`, `rolledOutAt`, `rolledBack`, `pinnedTo`, `takenOver` and
 * `sourced` are members of our own, which Go passes over.
 * @see helm.sh/helm/v3 v3.21 pkg/release/release.go
 */
export function payloadFrom(record: ReleaseRecord): string {
  const rendered = record.objects.map((object) => goJson(withoutOwner(withoutBundleLabels(object))));
  const files = rendered.map((json) => ({ name: fileName(json), data: base64(json) }));
  const unique = [...new Map(files.map((file) => [file.name, file])).values()];
  const templates = unique.map(({ name }) => ({ name, data: base64(`{{.Files.Get "${name}"}}`) }));
  const hasAnnotations = Object.keys(record.annotations).length > 0;
  const release = {
    name: record.name,
    info: {
      first_deployed: record.firstDeployed,
      last_deployed: record.lastDeployed,
      deleted: "",
      ...(record.description === "" ? {} : { description: record.description }),
      status: record.status,
    },
    chart: {
      metadata: hasAnnotations ? { annotations: sorted(record.annotations) } : {},
      lock: null,
      templates,
      values: null,
      schema: null,
      files: unique,
    },
    manifest: record.objects.map((object) => `${goJson(object)}\n`).join(""),
    version: record.version,
    namespace: record.namespace,
    labels: sorted(record.labels),
    ...(record.properties === undefined ? {} : { properties: record.properties }),
    ...(record.requirements === undefined ? {} : { requirements: record.requirements }),
    ...(record.inputDigest === undefined ? {} : { inputDigest: record.inputDigest }),
    ...(record.imageDigest === undefined ? {} : { imageDigest: record.imageDigest }),
    ...(record.proxy === undefined ? {} : { proxy: record.proxy }),
    ...(record.cautions === undefined ? {} : { cautions: record.cautions }),
    ...(record.flaws === undefined ? {} : { flaws: record.flaws }),
    ...(record.rolledOutAt === undefined ? {} : { rolledOutAt: record.rolledOutAt }),
    ...(record.rolledBack === undefined ? {} : { rolledBack: record.rolledBack }),
    ...(record.pinnedTo === undefined ? {} : { pinnedTo: record.pinnedTo }),
    ...(record.takenOver === undefined ? {} : { takenOver: record.takenOver }),
    ...(record.sourced === undefined ? {} : { sourced: record.sourced }),
  };
  return `${goJson(release, { sortKeys: false })}\n`;
}

/**
 * Reads what `payloadFrom` or the Go operator-controller wrote.
 * @param fallbackLabels the bundle's labels where the payload has none: other versions of the format keep them on the Secret.
 * @throws RetryableError Retrying that says what is wrong with the payload.
 */
export function recordFrom(payload: string, fallbackLabels: Readonly<Record<string, string>>): ReleaseRecord {
  const release = parse(payload, "failed to decode release");
  const info = members(release["info"]);
  const annotations = members(members(members(release["chart"])["metadata"])["annotations"]);
  const { properties, inputDigest, imageDigest, cautions, flaws, rolledOutAt, pinnedTo, takenOver, sourced } = release;
  const requirements = requirementsFrom(release["requirements"]);
  const proxy = proxyFrom(release["proxy"]);
  const rolledBack = rolledBackFrom(release["rolledBack"]);
  return {
    name: text(release["name"]),
    namespace: text(release["namespace"]),
    version: typeof release["version"] === "number" ? release["version"] : 0,
    status: statusFrom(info["status"]),
    description: text(info["description"]),
    firstDeployed: text(info["first_deployed"]),
    lastDeployed: text(info["last_deployed"]),
    labels: release["labels"] ? strings(members(release["labels"])) : { ...fallbackLabels },
    annotations: strings(annotations),
    objects: objectsFrom(text(release["manifest"])),
    ...(typeof properties === "string" ? { properties } : {}),
    ...(requirements ? { requirements } : {}),
    ...(typeof inputDigest === "string" ? { inputDigest } : {}),
    ...(typeof imageDigest === "string" ? { imageDigest } : {}),
    ...(proxy ? { proxy } : {}),
    ...(Array.isArray(cautions) ? { cautions: textsIn(cautions) } : {}),
    ...(Array.isArray(flaws) ? { flaws: textsIn(flaws) } : {}),
    ...(Array.isArray(sourced) ? { sourced: textsIn(sourced) } : {}),
    ...(typeof rolledOutAt === "string" ? { rolledOutAt } : {}),
    ...(rolledBack ? { rolledBack } : {}),
    ...(typeof pinnedTo === "number" ? { pinnedTo } : {}),
    ...(takenOver === true ? { takenOver } : {}),
  };
}

function textsIn(list: readonly unknown[]): string[] {
  return list.filter((item) => typeof item === "string");
}

function objectsFrom(manifest: string): KubeObject[] {
  const lines = manifest.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line, i) => {
    const object = parse(line, `failed to decode object ${i + 1} of the release's manifest`);
    if (!isKubeObject(object)) throw broken(`object ${i + 1} of the release's manifest names no apiVersion, kind or name`);
    return object;
  });
}

function isKubeObject(object: JsonObject): object is KubeObject {
  const metadata = members(object["metadata"]);
  return typeof object["apiVersion"] === "string" && typeof object["kind"] === "string" && typeof metadata["name"] === "string";
}

/** The SHA-256 of the content names a file, cut to eight bytes. */
function fileName(json: string): string {
  return `object-${createHash("sha256").update(json).digest("hex").slice(0, 16)}.json`;
}

function base64(content: string): string {
  return Buffer.from(content, "utf8").toString("base64");
}

function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  const compare = ([a]: [string, string], [b]: [string, string]): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Object.fromEntries(Object.entries(map).sort(compare));
}

function statusFrom(value: unknown): ReleaseStatus {
  return RELEASE_STATUSES.find((status) => status === value) ?? "unknown";
}

function parse(json: string, doing: string): JsonObject {
  let value: unknown;
  try {
    value = parseExactJson(json);
  } catch (err) {
    throw broken(`${doing}: ${faultIn(json)}`, err);
  }
  if (!isObject(value)) throw broken(`${doing}: not a JSON object`);
  return value;
}

/** What is wrong with the JSON; the engine would quote it, and a release may hold Secrets. */
function faultIn(json: string): string {
  const fault = jsonFaultIn(json);
  return fault ? `line ${fault.line}, column ${fault.column}: ${fault.reason}` : "no JSON";
}

function broken(message: string, cause?: unknown): RetryableError {
  return new RetryableError("Retrying", message, { cause });
}

function members(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function strings(map: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(map).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
}
