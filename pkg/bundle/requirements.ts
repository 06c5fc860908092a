import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate } from "../text/truncate.ts";
import type { Crd, Csv } from "./types.ts";

/** The requirements of a ClusterServiceVersion for a cluster. A field is absent if there is no such requirement. */
export interface BundleRequirements {
  /** Unparsed version. */
  readonly minKubeVersion?: string;
  /** CRDs by name, such as "things.example.com". The version is empty if any version is sufficient. */
  readonly definitions?: readonly { readonly name: string; readonly version: string }[];
  /** APIs that API services must serve. */
  readonly apis?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
}

/** A kind that the API server serves. */
interface ServedKind {
  readonly group: string;
  readonly version: string;
  /** Plural name in paths. */
  readonly resource: string;
  readonly kind: string;
}

/** The version and the APIs of a cluster. */
export interface ClusterEnvironment {
  /** Version of the API server, such as "v1.34.1-eks-1de2ab1". */
  readonly kubeVersion: string;
  readonly served: readonly ServedKind[];
}

/** Maximum required CRDs, and maximum required APIs. */
const MAX_REQUIRED = 100;
/** Maximum length of a text from a bundle. Valid names of CRDs and kinds are not longer. */
const MAX_TEXT = 253;
const KUBE_VERSION = /^v?(\d{1,5})\.(\d{1,5})(?:\.(\d{1,5}))?(?![\d.])/;

/**
 * Returns the requirements of a bundle: the Kubernetes version, and CRDs and APIs that it does not provide itself. At most a hundred of each,
 * with texts of at most 253 characters. Undefined without requirements.
 */
export function readRequirements({ csv, crds }: { csv: Pick<Csv, "spec">; crds: readonly Crd[] }): BundleRequirements | undefined {
  const { minKubeVersion = "", customresourcedefinitions, apiservicedefinitions } = csv.spec;
  const definitions = (customresourcedefinitions.required ?? [])
    .map(({ name, version }) => ({ name: truncate(name.trim(), MAX_TEXT), version: truncate(version.trim(), MAX_TEXT) }))
    .filter(({ name, version }) => name !== "" && !crds.some((crd) => provides(crd, name, version)));
  const owned = new Set((apiservicedefinitions.owned ?? []).map(getKey));
  const apis = (apiservicedefinitions.required ?? [])
    .filter((api) => !owned.has(getKey(api)))
    .flatMap(({ group, version, kind }) =>
      typeof group === "string" && typeof version === "string" && typeof kind === "string" && kind !== ""
        ? [{ group: truncate(group.trim(), MAX_TEXT), version: truncate(version.trim(), MAX_TEXT), kind: truncate(kind.trim(), MAX_TEXT) }]
        : [],
    );
  const requirements: BundleRequirements = {
    ...(minKubeVersion === "" ? {} : { minKubeVersion: truncate(minKubeVersion.trim(), MAX_TEXT) }),
    ...(definitions.length > 0 ? { definitions: definitions.slice(0, MAX_REQUIRED) } : {}),
    ...(apis.length > 0 ? { apis: apis.slice(0, MAX_REQUIRED) } : {}),
  };
  return Object.keys(requirements).length > 0 ? requirements : undefined;
}

/**
 * Returns a clause for each unmet requirement, in order: version, CRDs, APIs. Ignores vendor suffixes in the API server version: v1.34.1-gke.100
 * counts as 1.34.1.
 */
export function findUnmetRequirements(requirements: BundleRequirements, { kubeVersion, served }: ClusterEnvironment): string[] {
  const { minKubeVersion, definitions = [], apis = [] } = requirements;
  const version = minKubeVersion === undefined ? undefined : versionFinding(minKubeVersion, kubeVersion);
  return [
    ...(version === undefined ? [] : [version]),
    ...definitions.flatMap((definition) => definitionFinding(definition, served)),
    ...apis
      .filter((api) => !served.some(({ group, version: of, kind }) => group === api.group && of === api.version && kind === api.kind))
      .map(
        ({ group, version: of, kind }) =>
          `kind ${goQuote(kind)} of API ${goQuote(`${group}/${of}`)} is required, but no API service provides it`,
      ),
  ];
}

/** Parses the JSON form of the result of `readRequirements`; undefined for other values. */
export function parseRequirements(json: unknown): BundleRequirements | undefined {
  if (!isObject(json)) return undefined;
  const { minKubeVersion, definitions, apis } = json;
  const texts = <K extends string>(list: unknown, keys: readonly K[]): Record<K, string>[] =>
    (Array.isArray(list) ? list : []).filter(
      (one): one is Record<K, string> => isObject(one) && keys.every((key) => typeof one[key] === "string"),
    );
  return {
    ...(typeof minKubeVersion === "string" ? { minKubeVersion } : {}),
    ...(definitions === undefined ? {} : { definitions: texts(definitions, ["name", "version"]) }),
    ...(apis === undefined ? {} : { apis: texts(apis, ["group", "version", "kind"]) }),
  };
}

function versionFinding(minimum: string, kubeVersion: string): string | undefined {
  const [required, found] = [numbersIn(minimum), numbersIn(kubeVersion)];
  if (!required) return `its minKubeVersion ${goQuote(minimum)} is not a version`;
  if (!found)
    return `its minKubeVersion ${minimum} cannot be compared with the API server's version ${goQuote(truncate(kubeVersion.trim(), MAX_TEXT))}`;
  const at = required.findIndex((number, i) => number !== found[i]);
  const isLower = at >= 0 && (found[at] ?? 0) < (required[at] ?? 0);
  return isLower ? `its minKubeVersion is ${minimum}, but the API server has version ${kubeVersion}` : undefined;
}

function definitionFinding({ name, version }: { name: string; version: string }, served: readonly ServedKind[]): string[] {
  const versions = served.filter(({ resource, group }) => `${resource}.${group}` === name).map((one) => one.version);
  const named = `CustomResourceDefinition ${goQuote(name)}`;
  if (versions.length === 0) return [`${named} is required, but not served`];
  if (version === "" || versions.includes(version)) return [];
  return [`${named} is required in version ${goQuote(version)}, but is served only in ${versions.join(", ")}`];
}

function numbersIn(version: string): number[] | undefined {
  const [, major, minor, patch = "0"] = KUBE_VERSION.exec(version) ?? [];
  return major === undefined ? undefined : [major, minor, patch].map(Number);
}

function provides({ metadata, spec }: Crd, name: string, version: string): boolean {
  if (metadata.name !== name) return false;
  const versions = Array.isArray(spec["versions"]) ? spec["versions"].filter(isObject) : [];
  return version === "" || versions.some((one) => one["name"] === version && one["served"] === true);
}

function getKey({ group, version, kind }: { group?: unknown; version?: unknown; kind?: unknown }): string {
  return JSON.stringify([group, version, kind]);
}
