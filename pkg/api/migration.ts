import type { ClusterExtension } from "./clusterExtension.ts";
import { GROUP } from "./constants.ts";

/** API group of OLM classic. */
export const CLASSIC_GROUP = "operators.coreos.com";

/** On a ClusterExtension that a Subscription became: "namespace/name" of the Subscription. It stays. */
export const ANNOTATION_MIGRATED_FROM = `${GROUP}/migrated-from-subscription`;
/** On such an extension until `migrate cleanup`: the Subscription and the OperatorGroup as they were, JSON. */
export const ANNOTATION_SUBSCRIPTION_BACKUP = `${GROUP}/migration-subscription-backup`;
export const ANNOTATION_OPERATOR_GROUP_BACKUP = `${GROUP}/migration-operatorgroup-backup`;
/** On such an extension until `migrate cleanup`: digest of the Secret that keeps what annotations cannot, so that nobody else's content is restored. */
export const ANNOTATION_BACKUP_DIGEST = `${GROUP}/migration-backup-digest`;
/** On such an extension until `migrate cleanup`: the last step of the conversion that was completed. */
export const ANNOTATION_STEP = `${GROUP}/migration-step`;
/** On what a conversion made beside the extension, and on what classic OLM leaves over: name of the extension. */
export const LABEL_MIGRATION = `${GROUP}/migration`;
export const LABEL_LEFTOVER = `${GROUP}/migration-leftover`;

/** Longest name of a label, its prefix aside. */
const LABEL_NAME_MAX = 63;

/**
 * The label that OLM classic puts on all that it makes for a package in a namespace: cut to what a label may have.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/decorators/operator.go
 */
export function componentLabel({ packageName, namespace }: { packageName: string; namespace: string }): string {
  return `${CLASSIC_GROUP}/${`${packageName}.${namespace}`.slice(0, LABEL_NAME_MAX).replace(/[-._]+$/, "")}`;
}

/** Field manager of a conversion's writes. */
export const MIGRATION_FIELD_MANAGER = "olmv1-migrate";

/** Field managers of what OLM classic and a conversion write. */
export const CLASSIC_FIELD_MANAGERS: readonly string[] = ["olm", "catalog", MIGRATION_FIELD_MANAGER];

/** Whether a Subscription of OLM classic was converted to an extension. */
export function isMigrated({ metadata }: Pick<ClusterExtension, "metadata">): boolean {
  return metadata.annotations?.[ANNOTATION_MIGRATED_FROM] !== undefined;
}

/** Longest JSON of both backups that an extension can carry: all annotations of an object have 256 KiB together. */
export const BACKUP_MAX_BYTES = 200 * 1024;

/** Steps of a conversion that an extension's annotation names, in their order. */
export const CONVERSION_STEPS = ["Prepared", "BackedUp", "Unsubscribed", "Marked", "Detached", "Installed"] as const;
export type ConversionStep = (typeof CONVERSION_STEPS)[number];

/** The step that a text names; undefined for any other text. */
export function conversionStep(text: string | undefined): ConversionStep | undefined {
  return CONVERSION_STEPS.find((step) => step === text);
}
