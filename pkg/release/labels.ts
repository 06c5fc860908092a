import { createHash } from "node:crypto";
import { ANNOTATION_OWNER_UID, LABEL_BUNDLE_VERSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { KubeObject, ObjectMeta } from "../api/k8s.ts";
import { findDifferences } from "./diff.ts";
import { isCrd } from "./identity.ts";

/** Maximum length of a label value. */
const MAX = 63;
/** Number of hex digits of the SHA-256 that make changed or truncated values unique. */
const HASH = 8;
const VALID = /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$/;

/**
 * Converts `text` to a valid label value:
 *
 * | text                                    | value                                                                          |
 * | a valid value                           | itself                                                                         |
 * | valid except for `+` of build metadata  | with `_` in place of each, which versions never contain                        |
 * | anything else, or longer than 63        | its valid characters, truncated, then `-` and 8 hex digits of its SHA-256      |
 *
 * Deterministic; different valid values stay different.
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
export function toLabelValue(text: string): string {
  const plain = text.replaceAll("+", "_");
  if (plain.length <= MAX && VALID.test(plain)) return plain;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH);
  const valid = plain.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[._-]+/, "");
  const kept = valid.slice(0, MAX - HASH - 1).replace(/[._-]+$/, "");
  return kept === "" ? hash : `${kept}-${hash}`;
}

/** The bundle that contains the objects; unknown parts are empty. */
export interface ObjectBundle {
  packageName: string;
  version: string;
}

/**
 * Returns `object` with labels for the package and the bundle's version, replacing existing ones. Sets them only on the object and not on its Pod
 * template, because a changed template replaces Pods. They are not annotations, because a changed annotation increases the generation of a
 * Deployment.
 */
export function withBundleLabels(object: KubeObject, { packageName, version }: ObjectBundle): KubeObject {
  const { metadata } = withoutBundleLabels(object);
  const labels = {
    ...metadata.labels,
    ...(packageName === "" ? {} : { [LABEL_PACKAGE_NAME]: toLabelValue(packageName) }),
    ...(version === "" ? {} : { [LABEL_BUNDLE_VERSION]: toLabelValue(version) }),
  };
  return { ...object, metadata: { ...metadata, labels } };
}

/** Returns `object` without the labels of `withBundleLabels`. */
export function withoutBundleLabels(object: KubeObject): KubeObject {
  const { labels, ...rest } = object.metadata;
  if (!labels || !(LABEL_PACKAGE_NAME in labels || LABEL_BUNDLE_VERSION in labels)) return object;
  const { [LABEL_PACKAGE_NAME]: _package, [LABEL_BUNDLE_VERSION]: _version, ...others } = labels;
  const metadata: ObjectMeta = Object.keys(others).length > 0 ? { ...rest, labels: others } : rest;
  return { ...object, metadata };
}

/** Reports whether two states of an object differ only in the labels of `withBundleLabels`. */
export function differsOnlyInBundleLabels(before: KubeObject, after: KubeObject): boolean {
  return findDifferences(before, after).length > 0 && findDifferences(withoutBundleLabels(before), withoutBundleLabels(after)).length === 0;
}

/** The extension that owns the objects. */
export interface ObjectOwner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/**
 * Returns `object` with the owner's marks: two labels, and a controller reference that does not block the owner's deletion. A CRD gets the uid as an
 * annotation instead of the reference. Removes other ownerReferences, because a manifest cannot contain a valid uid.
 */
export function withOwner(object: KubeObject, owner: ObjectOwner): KubeObject {
  const { ownerReferences: _, ...rest } = object.metadata;
  const metadata: ObjectMeta = { ...rest, labels: { ...rest.labels, [LABEL_OWNER_KIND]: owner.kind, [LABEL_OWNER_NAME]: owner.name } };
  if (isCrd(object)) {
    metadata.annotations = { ...rest.annotations, [ANNOTATION_OWNER_UID]: owner.uid };
  } else {
    const { apiVersion, kind, name, uid } = owner;
    metadata.ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: false }];
  }
  return { ...object, metadata };
}

/** Returns `object` without the marks of `withOwner`. */
export function withoutOwner(object: KubeObject): KubeObject {
  const { ownerReferences: _, labels, annotations, ...rest } = object.metadata;
  const metadata: ObjectMeta = rest;
  const otherLabels = without(labels, [LABEL_OWNER_KIND, LABEL_OWNER_NAME]);
  if (otherLabels) metadata.labels = otherLabels;
  const otherAnnotations = without(annotations, [ANNOTATION_OWNER_UID]);
  if (otherAnnotations) metadata.annotations = otherAnnotations;
  return { ...object, metadata };
}

function without(map: Readonly<Record<string, string>> | undefined, keys: readonly string[]): Record<string, string> | undefined {
  const left = Object.entries(map ?? {}).filter(([key]) => !keys.includes(key));
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}
