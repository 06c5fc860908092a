import { createHash } from "node:crypto";
import { isObject } from "../api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { requirementsFrom } from "../bundle/requirements.ts";
import { goJson } from "../fbc/canonical.ts";
import { parseExactJson } from "../fbc/exactJson.ts";
import { jsonFaultIn } from "../fbc/jsonError.ts";
import { proxyFrom } from "../render/proxy.ts";
import { withoutBundleLabels } from "./bundleLabels.ts";
import { decodeGoStruct, type GoMembers, GoMismatch } from "./goJsonDecode.ts";
import { withoutOwner } from "./ownerMarks.ts";
import { type LeftObject, RELEASE_STATUSES, type ReleaseRecord, type ReleaseStatus } from "./record.ts";
import { RELEASE_SHAPE } from "./releaseShape.ts";
import { rolledBackFrom } from "./rolledBack.ts";

/**
 * A release as Helm's JSON, members in the order in which Go writes them, ended by a newline:
 * the manifest holds one object a line; the chart holds each object as it was rendered, with a template that prints it.
 * `properties`, `requirements`, `inputDigest`, `imageDigest`, `proxy`, `cautions`, `flaws`, `rolledOutAt`, `rolledBack`, `pinnedTo`, `takenOver`,
 * `sourced` and `left` are members of our own, which Go passes over.
 * @see helm.sh/helm/v3 v3.21 pkg/release/release.go
 */
export function payloadFrom(record: ReleaseRecord): string {
  return [...payloadPieces(record)].join("");
}

/** Yields the same text in pieces, each of which takes as long as one object does. A piece may be empty. */
export function* payloadPieces(record: ReleaseRecord): Generator<string> {
  const files = new Map<string, string>();
  for (const object of record.objects) {
    const rendered = goJson(withoutOwner(withoutBundleLabels(object)));
    files.set(fileName(rendered), base64(rendered));
    yield "";
  }
  const templates = [...files.keys()].map((name) => ({ name, data: base64(`{{.Files.Get "${name}"}}`) }));
  const hasAnnotations = Object.keys(record.annotations).length > 0;
  const head = {
    name: record.name,
    info: {
      first_deployed: record.firstDeployed,
      last_deployed: record.lastDeployed,
      deleted: "",
      ...(record.description === "" ? {} : { description: record.description }),
      status: record.status,
    },
  };
  const metadata = hasAnnotations ? { annotations: sorted(record.annotations) } : {};
  const chart = { metadata, lock: null, templates, values: null, schema: null };
  yield `${open(head)},"chart":${open(chart)},"files":[`;
  let comma = "";
  for (const [name, data] of files) {
    yield `${comma}${structJson({ name, data })}`;
    comma = ",";
  }
  yield ']},"manifest":"';
  for (const object of record.objects) yield goJson(`${goJson(object)}\n`).slice(1, -1);
  const tail = {
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
    ...(record.left === undefined ? {} : { left: record.left }),
  };
  yield `",${structJson(tail).slice(1)}\n`;
}

/** Members in the order in which they are given, as those of Go's structs. */
function structJson(value: JsonObject): string {
  return goJson(value, { sortKeys: false });
}

/** The JSON of an object with members, without the brace at its end. */
function open(value: JsonObject): string {
  return structJson(value).slice(0, -1);
}

/** The payload is not that of a release. The message names the member; it quotes no value, since a release may hold Secrets. */
export class PayloadFault extends Error {}

/** A payload that was decoded, except for its objects. */
export interface ReleaseParts {
  readonly head: Omit<ReleaseRecord, "objects">;
  /** The objects as JSON. */
  readonly lines: readonly string[];
}

/**
 * Reads what `payloadFrom` or the Go operator-controller wrote, as Go's decoder reads it.
 * @param fallbackLabels the bundle's labels where the payload has none: other versions of the format keep them on the Secret.
 * @throws PayloadFault that says what is wrong with the payload.
 */
export function recordFrom(payload: string, fallbackLabels: Readonly<Record<string, string>>): ReleaseRecord {
  const { head, lines } = partsFrom(payload, fallbackLabels);
  return { ...head, objects: lines.map(objectFrom) };
}

/** Reads all of a payload but its objects. @throws PayloadFault as `recordFrom`. */
export function partsFrom(payload: string, fallbackLabels: Readonly<Record<string, string>>): ReleaseParts {
  const release = decoded(payload);
  const info = members(release.get("info"));
  const annotations = members(members(members(release.get("chart")).get("metadata")).get("annotations"));
  const [properties, inputDigest, imageDigest, rolledOutAt] = ["properties", "inputDigest", "imageDigest", "rolledOutAt"].map((name) =>
    release.get(name),
  );
  const [cautions, flaws, sourced] = ["cautions", "flaws", "sourced"].map((name) => release.get(name));
  const [version, pinnedTo] = [release.get("version"), release.get("pinnedTo")];
  const left = release.get("left");
  const requirements = requirementsFrom(release.get("requirements"));
  const proxy = proxyFrom(release.get("proxy"));
  const rolledBack = rolledBackFrom(release.get("rolledBack"));
  const head: Omit<ReleaseRecord, "objects"> = {
    name: text(release.get("name")),
    namespace: text(release.get("namespace")),
    version: typeof version === "number" ? version : 0,
    status: statusFrom(info.get("status")),
    description: text(info.get("description")),
    firstDeployed: text(info.get("first_deployed")),
    lastDeployed: text(info.get("last_deployed")),
    labels: release.has("labels") ? strings(members(release.get("labels"))) : { ...fallbackLabels },
    annotations: strings(annotations),
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
    ...(release.get("takenOver") === true ? { takenOver: true } : {}),
    ...(Array.isArray(left) ? { left: leftIn(left) } : {}),
  };
  const lines = text(release.get("manifest")).split("\n");
  return { head, lines: lines.filter((line) => line.trim() !== "") };
}

function decoded(payload: string): GoMembers {
  try {
    return decodeGoStruct(payload, RELEASE_SHAPE);
  } catch (err) {
    const why = err instanceof GoMismatch ? err.message : faultIn(payload);
    throw new PayloadFault(`failed to decode release: ${why}`, { cause: err });
  }
}

function leftIn(list: readonly unknown[]): LeftObject[] {
  return list.flatMap((item) => {
    if (!isObject(item)) return [];
    const { apiVersion, kind, namespace, name, kept } = item;
    if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return [];
    return [
      { apiVersion, kind, name, ...(typeof namespace === "string" ? { namespace } : {}), ...(typeof kept === "string" ? { kept } : {}) },
    ];
  });
}

function textsIn(list: readonly unknown[]): string[] {
  return list.filter((item) => typeof item === "string");
}

/** Reads the object of a line. @param i its index among the lines. @throws PayloadFault as `recordFrom`. */
export function objectFrom(line: string, i: number): KubeObject {
  const object = parse(line, `failed to decode object ${i + 1} of the release's manifest`);
  if (!isKubeObject(object)) throw new PayloadFault(`object ${i + 1} of the release's manifest names no apiVersion, kind or name`);
  return object;
}

function isKubeObject(object: JsonObject): object is KubeObject {
  const metadata = isObject(object["metadata"]) ? object["metadata"] : {};
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
    throw new PayloadFault(`${doing}: ${faultIn(json)}`, { cause: err });
  }
  if (!isObject(value)) throw new PayloadFault(`${doing}: not a JSON object`);
  return value;
}

/** What is wrong with the JSON; the engine would quote it, and a release may hold Secrets. */
function faultIn(json: string): string {
  const fault = jsonFaultIn(json);
  return fault ? `line ${fault.line}, column ${fault.column}: ${fault.reason}` : "no JSON";
}

function members(value: unknown): GoMembers {
  return value instanceof Map ? (value as GoMembers) : new Map<string, unknown>();
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function strings(map: GoMembers): Record<string, string> {
  return Object.fromEntries([...map].flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
}
