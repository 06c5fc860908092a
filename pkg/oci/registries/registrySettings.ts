import type { KubeObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { listImageScopes, normalizeScope } from "../imageScopes.ts";
import { formatFamiliarReference, type Reference } from "../reference.ts";
import type { SignatureProblem } from "../signers/signatureProblem.ts";
import { type RegistryAuthorities, readAuthorities } from "./authorities.ts";
import type { RegistryEntry } from "./pullSources.ts";
import { parseRegistriesConf } from "./registriesConf.ts";
import { toRegistryEntries } from "./registryEntries.ts";
import {
  formatOrigin,
  type MirrorKind,
  type MirrorSet,
  type RegistryProblem,
  type RegistryScopes,
  readMirrorSets,
  readRegistryScopes,
} from "./registryObjects.ts";
import { formatLocation } from "./scopes.ts";

/** Key of registries.conf in a ConfigMap; the other keys are hosts with certificate authorities. */
const REGISTRIES_KEY = "registries.conf";
const MESSAGE_MAX = 300;
/** Most [[registry]] tables in a ConfigMap. */
const TABLES_MAX = 10_000;

/** The settings for registries in the objects of a cluster. */
export interface RegistrySettings {
  /** sorted by prefix; registries.conf on disk takes precedence */
  readonly entries: readonly RegistryEntry[];
  /** certificate authorities in addition to those on disk */
  readonly authorities: RegistryAuthorities;
  /** which images may be used */
  readonly scopes: Pick<RegistryScopes, "origin" | "blocked" | "allowed"> | undefined;
  /** Why every image is rejected: Image `cluster` cannot be read, and may restrict registries. */
  readonly unreadable?: string;
  readonly problems: readonly RegistryProblem[];
  /** Why no image may be pulled: the ConfigMap is invalid, and an earlier version is not known. */
  readonly fault?: string;
}

/** No settings: only files apply. */
export const NO_REGISTRY_SETTINGS: RegistrySettings = { entries: [], authorities: new Map(), scopes: undefined, problems: [] };

/** Provides the current settings; called for each pull. */
export interface RegistrySettingsSource {
  /** Waits until the API server has responded once, or some seconds have passed. */
  settings(signal: AbortSignal): Promise<RegistrySettings>;
}

/** The objects of a cluster that configure registries. */
export interface RegistryObjects {
  readonly mirrors: Readonly<Record<MirrorKind, readonly KubeObject[]>>;
  /** Image `cluster` */
  readonly image: KubeObject | undefined;
  /** the ConfigMap that Image `cluster` names */
  readonly authorities: KubeObject | undefined;
  /** the ConfigMap of olmv1; several if the servers are in several namespaces */
  readonly configMaps: readonly ConfigMapRegistries[];
}

/** Converts the objects of a cluster. The ConfigMap of olmv1 takes precedence over other objects with the same prefix. */
export function toRegistrySettings({ mirrors, image, authorities, configMaps }: RegistryObjects): RegistrySettings {
  const byName = (a: KubeObject, b: KubeObject): number => (a.metadata.name < b.metadata.name ? -1 : 1);
  const sets = Object.entries(mirrors).flatMap(([kind, objects]) =>
    [...objects].sort(byName).map((object) => readMirrorSets(object, kind as MirrorKind)),
  );
  const scopes = image && readRegistryScopes(image);
  const converted = toRegistryEntries(
    sets.flatMap(({ value }): MirrorSet[] => value),
    scopes?.value,
  );
  const trusted = authorities && readAuthorities(authorities);
  const fault = configMaps.flatMap((configMap) => configMap.fault ?? [])[0];
  const byPrefix = new Map([...converted.entries, ...configMaps.flatMap(({ entries }) => entries)].map((entry) => [entry.prefix, entry]));
  return {
    entries: [...byPrefix.values()].sort((a, b) => (a.prefix < b.prefix ? -1 : 1)),
    authorities: new Map([...(trusted?.value ?? []), ...configMaps.flatMap((configMap) => [...configMap.authorities])]),
    scopes: scopes?.value,
    problems: [
      ...sets.flatMap(({ problems }) => problems),
      ...(scopes?.problems ?? []),
      ...converted.problems,
      // Events are recorded for Image `cluster`, because the servers may not write them into the namespace of the ConfigMap.
      ...(trusted?.problems ?? []).map((problem) => ({ ...problem, object: image })),
      ...configMaps.flatMap(({ problems }) => problems),
    ],
    ...(fault === undefined ? {} : { fault }),
  };
}

/** The settings in the ConfigMap of olmv1. */
export interface ConfigMapRegistries {
  readonly entries: readonly RegistryEntry[];
  readonly authorities: RegistryAuthorities;
  readonly problems: readonly RegistryProblem[];
  readonly fault?: string;
}

/**
 * Reads the ConfigMap of olmv1. Invalid content has no effect: the last valid content stays in force, and if it is not known, no image may be pulled,
 * as with an invalid file.
 */
export function readRegistriesConfigMap(configMap: KubeObject, lastValid?: ConfigMapRegistries): ConfigMapRegistries {
  const origin = formatOrigin(configMap);
  const authorities = readAuthorities(configMap, REGISTRIES_KEY);
  try {
    const entries = parseTables(configMap, origin);
    return { entries, authorities: authorities.value, problems: authorities.problems };
  } catch (err) {
    const reason = `${REGISTRIES_KEY}: ${truncateExcerpt(getErrorMessage(err), { length: MESSAGE_MAX })}`;
    const use = lastValid ? "its last valid content is used" : "no image is pulled until it is corrected";
    const problems = [{ origin, message: `${reason}: ${use}`, object: configMap, isFatal: !lastValid }, ...authorities.problems];
    if (lastValid) return { entries: lastValid.entries, authorities: authorities.value, problems };
    return { entries: [], authorities: authorities.value, problems, fault: `loading registries configuration in ${origin}: ${reason}` };
  }
}

function parseTables(configMap: KubeObject, origin: string): RegistryEntry[] {
  const data = isObject(configMap["data"]) ? configMap["data"] : {};
  const text = data[REGISTRIES_KEY] ?? "";
  if (typeof text !== "string") throw new Error("it is not a text");
  const entries = parseRegistriesConf(text, true);
  if (entries.length > TABLES_MAX) throw new Error(`it has ${entries.length} registries, at most ${TABLES_MAX} are allowed`);
  for (const { prefix, location, mirror } of entries)
    for (const place of [prefix, location, ...mirror.map((one) => one.location)])
      if (place.includes("@")) throw new Error(`location ${formatLocation(place)} contains a user name or a digest`);
  return entries.map((entry) => ({ ...entry, origin }));
}

/**
 * Returns why an image must not be used; undefined if it may be. As on the nodes of the cluster, the requested name counts, not the name of a mirror.
 * @param ref requested reference, with a tag or a digest
 * @see openshift/machine-config-operator 7ce171ca pkg/controller/container-runtime-config/helpers.go updatePolicyJSON
 */
export function findRegistryRefusal({ scopes, unreadable }: RegistrySettings, ref: Reference): SignatureProblem | undefined {
  if (unreadable !== undefined) return { reason: "PolicyUnreadable", message: unreadable };
  if (!scopes) return undefined;
  const { blocked, allowed, origin } = scopes;
  const own = new Set(listImageScopes(ref));
  const contains = (scope: string): boolean => own.has(normalizeScope(scope));
  const by = blocked.find(contains);
  const refused = `Running image docker://${formatFamiliarReference(ref)} is rejected by policy`;
  const blockedBy = (message: string): SignatureProblem => ({ reason: "RegistryBlocked", message: `${refused}: ${message}` });
  if (by !== undefined) return blockedBy(`${origin} blocks ${formatLocation(by)} in spec.registrySources.blockedRegistries`);
  if (!allowed || allowed.some(contains)) return undefined;
  return blockedBy(`spec.registrySources.allowedRegistries of ${origin} does not contain registry ${ref.registry}`);
}
