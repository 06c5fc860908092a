import type { ClusterExtension } from "./clusterExtension.ts";
import { GROUP } from "./constants.ts";

/** API group of OLM v0. */
export const CLASSIC_GROUP = "operators.coreos.com";

/**
 * On a converted ClusterExtension, permanently: "namespace/name" of its Subscription. The tools of upstream and OpenShift's console set it too, also on
 * ClusterObjectSets.
 * @see operator-framework/library-olm cdd97576c6d3 migration/pkg/migration/labels.go
 */
export const ANNOTATION_MIGRATED_FROM = `${GROUP}/migrated-from-subscription`;
/** On a Subscription in a backup: it never existed, because its ClusterServiceVersion had none. */
export const ANNOTATION_WITHOUT_SUBSCRIPTION = `${GROUP}/without-subscription`;
/** On an extension that one of these other tools converted: the spec of the Subscription as JSON. */
export const ANNOTATION_FOREIGN_BACKUP = `${GROUP}/migration-subscription-backup`;
/** On a ClusterCatalog: "namespace/name" of the CatalogSource that it was created from. */
export const ANNOTATION_MIGRATED_FROM_SOURCE = `${GROUP}/migrated-from-catalogsource`;
/**
 * On such an extension until `migrate cleanup`: the original Subscription and OperatorGroup as JSON. Other tools do not know these annotations and refuse
 * a rollback, which would delete the objects.
 */
export const ANNOTATION_SUBSCRIPTION_BACKUP = `${GROUP}/olmv1-subscription-backup`;
export const ANNOTATION_OPERATOR_GROUP_BACKUP = `${GROUP}/olmv1-operatorgroup-backup`;
/** On such an extension until `migrate cleanup`: digest of the Secret with the rest of the backup, so that only this content is restored. */
export const ANNOTATION_BACKUP_DIGEST = `${GROUP}/migration-backup-digest`;
/** On such an extension until `migrate cleanup`: the last completed step of the conversion. */
export const ANNOTATION_STEP = `${GROUP}/migration-step`;
/** On objects that a conversion created, and on leftovers of OLM v0: name of the extension. */
export const LABEL_MIGRATION = `${GROUP}/migration`;
export const LABEL_LEFTOVER = `${GROUP}/migration-leftover`;

/** On a ClusterServiceVersion during its conversion: keeps it terminating, because OLM v0 ignores a terminating ClusterServiceVersion. */
export const MIGRATION_FINALIZER = `${GROUP}/migration`;

/** Maximum length of a label name without prefix. */
const LABEL_NAME_MAX = 63;

/**
 * Returns the label that OLM v0 sets on objects of a package in a namespace, truncated to a valid label name.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/decorators/operator.go
 */
export function getComponentLabel({ packageName, namespace }: { packageName: string; namespace: string }): string {
  return `${CLASSIC_GROUP}/${`${packageName}.${namespace}`.slice(0, LABEL_NAME_MAX).replace(/[-._]+$/, "")}`;
}

/** Field manager of a conversion. */
export const MIGRATION_FIELD_MANAGER = "olmv1-migrate";

/** Field managers of OLM v0 and of conversions. */
export const CLASSIC_FIELD_MANAGERS: readonly string[] = ["olm", "catalog", MIGRATION_FIELD_MANAGER];

/** Returns whether the extension was converted from a Subscription of OLM v0. */
export function isMigrated({ metadata }: Pick<ClusterExtension, "metadata">): boolean {
  return metadata.annotations?.[ANNOTATION_MIGRATED_FROM] !== undefined;
}

/** Maximum size of both backups as JSON; the API server limits all annotations of an object to 256 KiB. */
export const BACKUP_MAX_BYTES = 200 * 1024;

/** Steps of a conversion, in order. */
export const CONVERSION_STEPS = [
  "Prepared",
  "Granted",
  "BackedUp",
  "Terminating",
  "Unsubscribed",
  "Marked",
  "Detached",
  "Installed",
] as const;
export type ConversionStep = (typeof CONVERSION_STEPS)[number];

/** Parses a step; undefined for any other text. */
export function parseConversionStep(text: string | undefined): ConversionStep | undefined {
  return CONVERSION_STEPS.find((step) => step === text);
}
