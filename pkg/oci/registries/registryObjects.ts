import type { KubeObject } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { lowerHost } from "../imageScopes.ts";
import { findScopeFault, formatLocation, isMirror, isMirrorSource } from "./scopes.ts";

/** The kinds that configure mirrors in an OpenShift cluster. */
export const MIRROR_KINDS = [
  { apiVersion: "config.openshift.io/v1", kind: "ImageDigestMirrorSet" },
  { apiVersion: "config.openshift.io/v1", kind: "ImageTagMirrorSet" },
  { apiVersion: "operator.openshift.io/v1alpha1", kind: "ImageContentSourcePolicy" },
] as const;
export type MirrorKind = (typeof MIRROR_KINDS)[number]["kind"];

/** The object with the registry sources and certificate authorities of an OpenShift cluster. */
export const CLUSTER_IMAGE = { apiVersion: "config.openshift.io/v1", kind: "Image", name: "cluster" } as const;
/** Image `cluster` in a text for users. */
export const CLUSTER_IMAGE_ORIGIN = `${CLUSTER_IMAGE.kind} "${CLUSTER_IMAGE.name}"`;
/** Namespace of the ConfigMap with certificate authorities that `CLUSTER_IMAGE` names. */
export const CLUSTER_CONFIG_NAMESPACE = "openshift-config";

/** A part of the configuration without effect, and the reason. */
export interface RegistryProblem {
  /** such as `ImageDigestMirrorSet "mirrors"` */
  readonly origin: string;
  readonly message: string;
  /** the object that contains it, if it could be read */
  readonly object?: KubeObject | undefined;
  /** Whether no image can be pulled. */
  readonly isFatal?: boolean;
}

/** The valid mirrors of one source in one object. */
export interface MirrorSet {
  readonly origin: string;
  readonly source: string;
  /** in the order of the object, at least one that is not the source */
  readonly mirrors: readonly string[];
  readonly use: "digest-only" | "tag-only";
  /** Whether the source must not be contacted. */
  readonly isSourceBlocked: boolean;
}

/** The valid scopes in `spec.registrySources`. */
export interface RegistryScopes {
  readonly origin: string;
  readonly insecure: readonly string[];
  readonly blocked: readonly string[];
  /** undefined: all that are not blocked */
  readonly allowed: readonly string[] | undefined;
}

/** Something read from an untrusted object, and its problems. */
export interface Read<T> {
  readonly value: T;
  readonly problems: readonly RegistryProblem[];
}

/** Most problems of one object; the last one counts the others. */
const PROBLEMS_MAX = 10;
/** Most mirrors of one source in one object. Each costs a pull up to its time limit. */
export const MIRRORS_MAX = 64;

/** Formats the origin of a setting, such as `ConfigMap "ns/name"`. */
export function formatOrigin({ kind, metadata: { namespace, name } }: Pick<KubeObject, "kind" | "metadata">): string {
  return `${kind} "${namespace ? `${namespace}/` : ""}${name}"`;
}

/** Collects the problems of one object. */
class Faults {
  readonly #found: string[] = [];

  add(message: string): void {
    this.#found.push(message);
  }

  list(object: KubeObject): RegistryProblem[] {
    const origin = formatOrigin(object);
    const shown = this.#found.slice(0, PROBLEMS_MAX);
    const more = this.#found.length - shown.length;
    if (more > 0) shown.push(`${more} more problems`);
    return shown.map((message) => ({ origin, message, object }));
  }
}

const MIRROR_LISTS: Readonly<Record<MirrorKind, { member: string; use: MirrorSet["use"] }>> = {
  ImageDigestMirrorSet: { member: "imageDigestMirrors", use: "digest-only" },
  ImageTagMirrorSet: { member: "imageTagMirrors", use: "tag-only" },
  ImageContentSourcePolicy: { member: "repositoryDigestMirrors", use: "digest-only" },
};

/**
 * Reads the mirrors in an object. Ignores each invalid location; the Machine Config Operator ignores all changes instead. A set whose only mirror is
 * its source has no effect.
 * @see openshift/api c01b540c config/v1 and 1fb14cc7 operator/v1alpha1
 * @see openshift/machine-config-operator 7ce171ca pkg/controller/container-runtime-config/helpers.go validateRegistriesConfScopes
 */
export function readMirrorSets(object: KubeObject, kind: MirrorKind): Read<MirrorSet[]> {
  const { member, use } = MIRROR_LISTS[kind];
  const faults = new Faults();
  const origin = formatOrigin(object);
  const value = readList(object["spec"], member, faults).flatMap((entry): MirrorSet[] => {
    if (!isObject(entry)) return [];
    const { mirrorSourcePolicy } = entry;
    const source = typeof entry["source"] === "string" ? entry["source"] : "";
    if (!isMirrorSource(source)) {
      faults.add(`invalid source ${formatLocation(source)}`);
      return [];
    }
    const given = readTexts(entry, "mirrors", faults);
    if (given.every((mirror) => mirror === source)) return [];
    const isSourceBlocked = kind !== "ImageContentSourcePolicy" && mirrorSourcePolicy === "NeverContactSource";
    if (isSourceBlocked && given.includes(source))
      faults.add(`source ${formatLocation(source)} is one of its mirrors, but mirrorSourcePolicy is NeverContactSource`);
    const mirrors = [...new Set(given)].filter((mirror) => {
      if (mirror === source || isMirror(mirror)) return true;
      faults.add(`invalid mirror ${formatLocation(mirror)} of source ${formatLocation(source)}`);
      return false;
    });
    if (mirrors.length > MIRRORS_MAX)
      faults.add(`source ${formatLocation(source)} has ${mirrors.length} mirrors, the first ${MIRRORS_MAX} are used`);
    return [{ origin, source: lowerHost(source), mirrors: mirrors.slice(0, MIRRORS_MAX), use, isSourceBlocked }];
  });
  return { value, problems: faults.list(object) };
}

/**
 * Reads `spec.registrySources` of Image `cluster`. Ignores invalid scopes. If both lists are set, both restrict images.
 * @see openshift/api 24a1b663 config/v1 images-Default.crd.yaml
 */
export function readRegistryScopes(object: KubeObject): Read<RegistryScopes> {
  const faults = new Faults();
  const { registrySources } = isObject(object["spec"]) ? object["spec"] : {};
  const read = (member: string): string[] | undefined => {
    const texts = readTexts(registrySources, member, faults);
    if (texts.length === 0) return undefined;
    return texts.map(lowerHost).filter((scope) => {
      const fault = findScopeFault(scope);
      if (fault !== undefined) faults.add(`invalid entry ${formatLocation(scope)} in spec.registrySources.${member}: ${fault}`);
      return fault === undefined;
    });
  };
  const [insecure = [], blocked = [], allowed] = ["insecureRegistries", "blockedRegistries", "allowedRegistries"].map(read);
  if (allowed && blocked.length > 0)
    faults.add("spec.registrySources sets both allowedRegistries and blockedRegistries; only images that both accept are used");
  return { value: { origin: formatOrigin(object), insecure, blocked, allowed }, problems: faults.list(object) };
}

/** Returns the name of the ConfigMap with certificate authorities; undefined if Image `cluster` names none. */
export function getAuthoritiesName(image: KubeObject | undefined): string | undefined {
  const { additionalTrustedCA } = isObject(image?.["spec"]) ? image["spec"] : {};
  const name = isObject(additionalTrustedCA) ? additionalTrustedCA["name"] : undefined;
  return typeof name === "string" && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name) ? name : undefined;
}

function readList(value: unknown, member: string, faults: Faults): readonly unknown[] {
  const list = isObject(value) ? (value[member] ?? []) : [];
  if (Array.isArray(list)) return list;
  faults.add(`${truncateExcerpt(member)} is not a list`);
  return [];
}

function readTexts(value: unknown, member: string, faults: Faults): string[] {
  const list = readList(value, member, faults);
  const texts = list.filter((entry): entry is string => typeof entry === "string");
  if (texts.length < list.length) faults.add(`${member} contains a value that is not a text`);
  return texts;
}
