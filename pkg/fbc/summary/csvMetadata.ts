import type { JsonObject } from "../../api/k8s.ts";
import { findMember, getObjectAt, getObjectsAt, isObject } from "../../golang/members.ts";
import { parseYaml } from "../../golang/yaml.ts";
import { readBoundedText } from "../boundedTexts.ts";

/** The metadata of a ClusterServiceVersion, read from either form in which a catalog contains it. Fields are not validated. */
export interface CsvMetadata {
  annotations: Readonly<Record<string, unknown>>;
  labels: Readonly<Record<string, unknown>>;
  /** `displayName`, `description`, `keywords`, `provider`, `installModes`, `minKubeVersion`, `maturity`. */
  spec: Readonly<Record<string, unknown>>;
  /** `owned` and `required`, each a list of `{name, version, kind}`. */
  crds: Readonly<Record<string, unknown>>;
  /** `owned` and `required`, each a list of `{group, version, kind}`. */
  apiServices: Readonly<Record<string, unknown>>;
}

const KIND = "ClusterServiceVersion";
const GROUP = "operators.coreos.com/";
/** Number of base64 characters at the start of an object that usually suffice to detect its kind. A multiple of four. */
const HEAD = 512;
/** Maximum size of a decoded object in base64 characters. The largest real ClusterServiceVersion has 1.7 million characters. */
const MAX_OBJECT = 16 * 1024 * 1024;
const JSON_MEMBER = /^\s*\{\s*"(apiVersion|kind)"\s*:\s*"([^"\\]*)"\s*(?:,\s*"(apiVersion|kind)"\s*:\s*"([^"\\]*)")?/;
const YAML_MEMBER = /^(apiVersion|kind):[ \t]+["']?([\w./-]+)/gm;

/**
 * Reads the metadata of a ClusterServiceVersion from the properties of a bundle: from `olm.csv.metadata` or, in older catalogs, from the manifest in
 * `olm.bundle.object`. Decodes only the manifest of the ClusterServiceVersion. Returns undefined if neither can be read.
 */
export function readCsvMetadata(properties: readonly Readonly<Record<string, unknown>>[]): CsvMetadata | undefined {
  for (const property of properties) {
    if (findMember(property, "type") !== "olm.csv.metadata") continue;
    const value = findMember(property, "value");
    if (isObject(value)) return fromMetadata(value);
  }
  for (const property of properties) {
    if (findMember(property, "type") !== "olm.bundle.object") continue;
    const data = findMember(getObjectAt(property, "value"), "data");
    const csv = typeof data === "string" && data.length <= MAX_OBJECT ? csvIn(data) : undefined;
    if (csv) return fromManifest(csv);
  }
  return undefined;
}

function fromMetadata(value: JsonObject): CsvMetadata {
  return {
    annotations: getObjectAt(value, "annotations"),
    labels: getObjectAt(value, "labels"),
    spec: value,
    crds: getObjectAt(value, "crdDescriptions"),
    apiServices: getObjectAt(value, "apiServiceDefinitions"),
  };
}

function fromManifest(csv: JsonObject): CsvMetadata {
  const metadata = getObjectAt(csv, "metadata");
  const spec = getObjectAt(csv, "spec");
  return {
    annotations: getObjectAt(metadata, "annotations"),
    labels: getObjectAt(metadata, "labels"),
    spec,
    crds: getObjectAt(spec, "customresourcedefinitions"),
    apiServices: getObjectAt(spec, "apiservicedefinitions"),
  };
}

/** Decodes a ClusterServiceVersion; undefined if `data` is another object. */
function csvIn(data: string): JsonObject | undefined {
  const guess = isCsv(Buffer.from(data.slice(0, HEAD), "base64").toString("utf8"));
  if (guess === false) return undefined;
  const bytes = Buffer.from(data, "base64");
  if (guess === undefined && !bytes.includes(KIND)) return undefined;
  const object = parsed(bytes.toString("utf8"));
  return isObject(object) && findMember(object, "kind") === KIND ? object : undefined;
}

/** Reports whether an object that begins with `head` is a ClusterServiceVersion; undefined if `head` does not contain the kind. */
function isCsv(head: string): boolean | undefined {
  const json = JSON_MEMBER.exec(head);
  const members = json ? [json.slice(1, 3), json.slice(3, 5)] : [...head.matchAll(YAML_MEMBER)].map((match) => match.slice(1, 3));
  const of = (name: string): string | undefined => members.find(([key]) => key === name)?.[1];
  const kind = of("kind");
  if (kind !== undefined) return kind === KIND;
  return of("apiVersion")?.startsWith(GROUP) === false ? false : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parsedYaml(text);
  }
}

function parsedYaml(text: string): unknown {
  try {
    return parseYaml(text);
  } catch {
    return undefined;
  }
}

/** Maximum APIs of one bundle. */
const MAX_APIS = 512;

/** Distinct APIs of a bundle in the form `group/version/kind`, sorted. */
export interface BundleApis {
  /** From properties `olm.gvk` and the owned APIs of the ClusterServiceVersion. */
  provided: string[];
  /** From properties `olm.gvk.required` and the required APIs of the ClusterServiceVersion. */
  required: string[];
}

/** Collects the APIs that a bundle provides and requires. @param properties of the bundle. */
export function collectApis(properties: readonly Readonly<Record<string, unknown>>[], csv: CsvMetadata | undefined): BundleApis {
  return {
    provided: collectSorted(withType(properties, "olm.gvk"), csv, "owned"),
    required: collectSorted(withType(properties, "olm.gvk.required"), csv, "required"),
  };
}

function withType(properties: readonly Readonly<Record<string, unknown>>[], type: string): Readonly<Record<string, unknown>>[] {
  return properties.filter((property) => findMember(property, "type") === type).map((property) => getObjectAt(property, "value"));
}

function collectSorted(gvks: Readonly<Record<string, unknown>>[], csv: CsvMetadata | undefined, key: "owned" | "required"): string[] {
  const services = csv ? getObjectsAt(csv.apiServices, key) : [];
  const crds = csv ? getObjectsAt(csv.crds, key) : [];
  const found = new Set<string>();
  for (const gvk of [...gvks, ...services]) add(found, readBoundedText(gvk, "group", 253) ?? "", gvk);
  for (const crd of crds) add(found, getCrdGroup(readBoundedText(crd, "name", 253)), crd);
  return [...found].sort().slice(0, MAX_APIS);
}

function add(found: Set<string>, group: string, api: Readonly<Record<string, unknown>>): void {
  const kind = readBoundedText(api, "kind", 63);
  const version = readBoundedText(api, "version", 63);
  if (kind !== undefined && version !== undefined) found.add(`${group}/${version}/${kind}`);
}

/** Returns the group in the name of a CustomResourceDefinition, `plural.group`. */
function getCrdGroup(name = ""): string {
  const dot = name.indexOf(".");
  return dot < 0 ? "" : name.slice(dot + 1);
}
