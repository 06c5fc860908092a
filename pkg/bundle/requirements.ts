import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate } from "../text/truncate.ts";
import type { Crd, Csv } from "./types.ts";

/** What a ClusterServiceVersion wants of a cluster before it is installed; members are absent where it wants nothing of the sort. */
export interface BundleRequirements {
  /** As it is written. */
  readonly minKubeVersion?: string;
  /** By name, such as "things.example.com". The version is empty where any will do. */
  readonly definitions?: readonly { readonly name: string; readonly version: string }[];
  /** APIs of API services. */
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

/** What a cluster has to offer. */
export interface ClusterOffer {
  /** Version of the API server, such as "v1.34.1-eks-1de2ab1". */
  readonly kubeVersion: string;
  readonly served: readonly ServedKind[];
}

/** Required definitions, and required APIs, that are looked at. */
const MAX_REQUIRED = 100;
/** Longest text of a bundle in a finding: names of definitions and kinds have no more. */
const MAX_TEXT = 253;
const KUBE_VERSION = /^v?(\d{1,5})\.(\d{1,5})(?:\.(\d{1,5}))?(?![\d.])/;

/**
 * What a bundle wants of a cluster: the Kubernetes version, and definitions and APIs of others. A definition that it brings itself is none.
 * At most a hundred of each; texts have at most 253 characters. Undefined where it wants nothing.
 */
export function requirementsOf({ csv, crds }: { csv: Pick<Csv, "spec">; crds: readonly Crd[] }): BundleRequirements | undefined {
  const { minKubeVersion = "", customresourcedefinitions, apiservicedefinitions } = csv.spec;
  const definitions = (customresourcedefinitions.required ?? [])
    .map(({ name, version }) => ({ name: truncate(name.trim(), MAX_TEXT), version: truncate(version.trim(), MAX_TEXT) }))
    .filter(({ name, version }) => name !== "" && !crds.some((crd) => brings(crd, name, version)));
  const owned = new Set((apiservicedefinitions.owned ?? []).map(keyOf));
  const apis = (apiservicedefinitions.required ?? [])
    .filter((api) => !owned.has(keyOf(api)))
    .flatMap(({ group, version, kind }) =>
      typeof group === "string" && typeof version === "string" && typeof kind === "string" && kind !== ""
        ? [{ group: truncate(group.trim(), MAX_TEXT), version: truncate(version.trim(), MAX_TEXT), kind: truncate(kind.trim(), MAX_TEXT) }]
        : [],
    );
  const wanted: BundleRequirements = {
    ...(minKubeVersion === "" ? {} : { minKubeVersion: truncate(minKubeVersion.trim(), MAX_TEXT) }),
    ...(definitions.length > 0 ? { definitions: definitions.slice(0, MAX_REQUIRED) } : {}),
    ...(apis.length > 0 ? { apis: apis.slice(0, MAX_REQUIRED) } : {}),
  };
  return Object.keys(wanted).length > 0 ? wanted : undefined;
}

/**
 * What of `requirements` the cluster does not meet, a clause each, in their order: the version, definitions, APIs. What vendors add to the
 * version of their API server does not count, so that v1.34.1-gke.100 is 1.34.1.
 */
export function unmetRequirements(requirements: BundleRequirements, { kubeVersion, served }: ClusterOffer): string[] {
  const { minKubeVersion, definitions = [], apis = [] } = requirements;
  const version = minKubeVersion === undefined ? undefined : versionFinding(minKubeVersion, kubeVersion);
  return [
    ...(version === undefined ? [] : [version]),
    ...definitions.flatMap((definition) => definitionFinding(definition, served)),
    ...apis
      .filter((api) => !served.some(({ group, version: of, kind }) => group === api.group && of === api.version && kind === api.kind))
      .map(
        ({ group, version: of, kind }) =>
          `kind ${goQuote(kind)} of API ${goQuote(`${group}/${of}`)} is required of an API service and not served`,
      ),
  ];
}

/** The requirements that JSON holds which `requirementsOf` gave; undefined where it is something else. */
export function requirementsFrom(json: unknown): BundleRequirements | undefined {
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
  const [wanted, found] = [numbersIn(minimum), numbersIn(kubeVersion)];
  if (!wanted) return `its minKubeVersion ${goQuote(minimum)} is no version`;
  if (!found)
    return `its minKubeVersion ${minimum} cannot be compared with the API server's version ${goQuote(truncate(kubeVersion.trim(), MAX_TEXT))}`;
  const at = wanted.findIndex((number, i) => number !== found[i]);
  const isLower = at >= 0 && (found[at] ?? 0) < (wanted[at] ?? 0);
  return isLower ? `its minKubeVersion is ${minimum} and the API server's version ${kubeVersion}` : undefined;
}

function definitionFinding({ name, version }: { name: string; version: string }, served: readonly ServedKind[]): string[] {
  const versions = served.filter(({ resource, group }) => `${resource}.${group}` === name).map((one) => one.version);
  const named = `CustomResourceDefinition ${goQuote(name)}`;
  if (versions.length === 0) return [`${named} is required and not served`];
  if (version === "" || versions.includes(version)) return [];
  return [`${named} is required in version ${goQuote(version)} and served in ${versions.join(", ")} only`];
}

function numbersIn(version: string): number[] | undefined {
  const [, major, minor, patch = "0"] = KUBE_VERSION.exec(version) ?? [];
  return major === undefined ? undefined : [major, minor, patch].map(Number);
}

function brings({ metadata, spec }: Crd, name: string, version: string): boolean {
  if (metadata.name !== name) return false;
  const versions = Array.isArray(spec["versions"]) ? spec["versions"].filter(isObject) : [];
  return version === "" || versions.some((one) => one["name"] === version && one["served"] === true);
}

function keyOf({ group, version, kind }: { group?: unknown; version?: unknown; kind?: unknown }): string {
  return JSON.stringify([group, version, kind]);
}
