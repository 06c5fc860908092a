import { LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { KubeObject, ObjectMeta } from "../api/k8s.ts";
import { differences } from "./diff.ts";
import { labelValue } from "./labelValue.ts";

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
  return differences(before, after).length > 0 && differences(withoutBundleLabels(before), withoutBundleLabels(after)).length === 0;
}
