import { createHash } from "node:crypto";
import { ANNOTATION_OWNER_UID, LABEL_BUNDLE_VERSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { KubeObject, ObjectMeta } from "../api/k8s.ts";
import { findDifferences } from "./diff.ts";
import { isCrd } from "./identity.ts";

/** Longest value of a label. */
const MAX = 63;
/** Hexadecimal digits of the SHA-256 that tell values apart which had to be cut or changed. */
const HASH = 8;
const VALID = /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$/;

/**
 * `text` as the value of a label, which the API server takes whatever the text is:
 *
 * | text                                    | value                                                                          |
 * | a valid value                           | itself                                                                         |
 * | valid but for `+`, as of build metadata | with `_` in place of each, which no version holds                              |
 * | anything else, or longer than 63        | what is valid of it, cut, then `-` and the first 8 hex digits of its SHA-256   |
 *
 * The same text always gives the same value, and valid values stay apart.
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
export function labelValue(text: string): string {
  const plain = text.replaceAll("+", "_");
  if (plain.length <= MAX && VALID.test(plain)) return plain;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH);
  const valid = plain.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[._-]+/, "");
  const kept = valid.slice(0, MAX - HASH - 1).replace(/[._-]+$/, "");
  return kept === "" ? hash : `${kept}-${hash}`;
}

/** The bundle that objects come from; an empty text is one that is not known. */
export interface ObjectBundle {
  packageName: string;
  version: string;
}

/**
 * `object` with labels that name the package and the bundle's version, in place of any under these keys. They are on the object itself and
 * never on a Pod template, so that no Pod is replaced for them; nor are they annotations, with which the generation of a Deployment rises.
 */
export function withBundleLabels(object: KubeObject, { packageName, version }: ObjectBundle): KubeObject {
  const { metadata } = withoutBundleLabels(object);
  const labels = {
    ...metadata.labels,
    ...(packageName === "" ? {} : { [LABEL_PACKAGE_NAME]: labelValue(packageName) }),
    ...(version === "" ? {} : { [LABEL_BUNDLE_VERSION]: labelValue(version) }),
  };
  return { ...object, metadata: { ...metadata, labels } };
}

/** `object` without the labels of `withBundleLabels`. */
export function withoutBundleLabels(object: KubeObject): KubeObject {
  const { labels, ...rest } = object.metadata;
  if (!labels || !(LABEL_PACKAGE_NAME in labels || LABEL_BUNDLE_VERSION in labels)) return object;
  const { [LABEL_PACKAGE_NAME]: _package, [LABEL_BUNDLE_VERSION]: _version, ...others } = labels;
  const metadata: ObjectMeta = Object.keys(others).length > 0 ? { ...rest, labels: others } : rest;
  return { ...object, metadata };
}

/** Whether two states of an object differ, and in nothing but the labels of `withBundleLabels`. */
export function onlyBundleLabelsDiffer(before: KubeObject, after: KubeObject): boolean {
  return findDifferences(before, after).length > 0 && findDifferences(withoutBundleLabels(before), withoutBundleLabels(after)).length === 0;
}

/** The extension that objects are marked with. */
export interface ObjectOwner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/**
 * `object` marked as the owner's: two labels on everything; a CRD gets the uid as an annotation, everything else a controller
 * reference that does not block the owner's deletion. Other ownerReferences go: a manifest cannot know a uid.
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

/** `object` without the marks of `withOwner`. */
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
