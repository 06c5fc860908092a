import type { KubeObject } from "./k8s.ts";

/** Describes the Events of one reason. */
export interface EventDescription {
  readonly type: "Normal" | "Warning";
  /** Kinds of the involved objects. */
  readonly on: readonly ("ClusterExtension" | "ClusterCatalog" | "ClusterOperator" | "ExtensionPermissions" | "Secret" | RegistryKind)[];
  /** What happened, and special content of the message; phrases in Markdown. */
  readonly when: string;
}

/** Kinds that configure registries. */
type RegistryKind = (typeof REGISTRIES)[number];
const REGISTRIES = ["ConfigMap", "Image", "ImageDigestMirrorSet", "ImageTagMirrorSet", "ImageContentSourcePolicy"] as const;
const EXTENSION = ["ClusterExtension"] as const;
const PERMISSIONS = ["ExtensionPermissions"] as const;
/** Certificates for bundles and serving certificates of the servers. */
const CERTIFICATE = ["ClusterExtension", "Secret"] as const;

/** All Event reasons, in the order of the reference. Reasons are stable: alerts and scripts rely on them. */
export const EVENTS = {
  GrantChanged: {
    type: "Normal",
    on: PERMISSIONS,
    when: "Permissions of an extension changed. The message contains the number of rules.",
  },
  GrantPending: { type: "Warning", on: PERMISSIONS, when: "Permissions wait for approval." },
  GrantDenied: { type: "Warning", on: PERMISSIONS, when: "The PermissionPolicy denies permissions that the bundle needs." },
  GrantUnverified: {
    type: "Warning",
    on: PERMISSIONS,
    when: "permission-manager cannot verify the requested bundle, or it is not in the selected catalog.",
  },
  NamespaceShared: {
    type: "Warning",
    on: EXTENSION,
    when: "permission-manager installs the extension into a namespace that it created for another one.",
  },
  ServiceAccountIgnored: {
    type: "Warning",
    on: EXTENSION,
    when: "`spec.serviceAccount` has no effect, because `--managed-permissions` is always.",
  },
  Resolved: {
    type: "Normal",
    on: EXTENSION,
    when: "Another bundle or catalog selected. The message explains the choice.",
  },
  OperatorConditionSkipped: {
    type: "Warning",
    on: EXTENSION,
    when: "A bundle was applied without OperatorCondition, because the ServiceAccount may not create one.",
  },
  Installed: { type: "Normal", on: EXTENSION, when: "First bundle applied." },
  Upgraded: {
    type: "Normal",
    on: EXTENSION,
    when: "Another bundle or configuration applied.",
  },
  Pruned: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects deleted that the new release does not contain.",
  },
  Recreated: {
    type: "Normal",
    on: EXTENSION,
    when: "Deployment or binding recreated in an upgrade, because an immutable field changed.",
  },
  Adopted: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects of a deleted ClusterExtension adopted, such as a kept CustomResourceDefinition.",
  },
  HandedOver: {
    type: "Normal",
    on: EXTENSION,
    when: "Object moved to another ClusterExtension, because only the release of that extension still contains it. Recorded for both extensions.",
  },
  TakenOver: {
    type: "Normal",
    on: EXTENSION,
    when: "Extension of the Go operator-controller adopted.",
  },
  ReleaseSkipped: {
    type: "Warning",
    on: EXTENSION,
    when: "Archived ClusterObjectSet of the Go operator-controller that cannot be read. The extension cannot be rolled back to it.",
  },
  RolledBack: {
    type: "Normal",
    on: EXTENSION,
    when: "Earlier release restored: an upgrade was rejected or missed its deadline, or an annotation requested it.",
  },
  ApplyFailed: {
    type: "Warning",
    on: EXTENSION,
    when: "Object rejected by the API server while a bundle was applied. The message lists the changes until then.",
  },
  InstallRolledBack: {
    type: "Warning",
    on: EXTENSION,
    when: "Objects of a first installation deleted, because they exceeded a ResourceQuota.",
  },
  ApiWarning: {
    type: "Warning",
    on: EXTENSION,
    when: "Warning of the API server, an admission policy or a webhook, for example about Pod Security. At most six per bundle and configuration.",
  },
  ProxyChanged: {
    type: "Normal",
    on: EXTENSION,
    when: "Proxy variables of Deployments changed to match the cluster proxy.",
  },
  ManifestNormalized: {
    type: "Normal",
    on: EXTENSION,
    when: "Manifest changed before it was applied, because the API server would reject it.",
  },
  CrdUpgradeSafety: {
    type: "Normal",
    on: EXTENSION,
    when: "CustomResourceDefinition upgrade check ignored a finding, or made a change such as removing a stored version.",
  },
  UpgradeConstraintOverridden: {
    type: "Warning",
    on: EXTENSION,
    when: "Upgrade without an upgrade edge (`upgradeConstraintPolicy: SelfCertified`), or to a bundle that another channel entry skips.",
  },
  BundleWarning: {
    type: "Warning",
    on: EXTENSION,
    when: "Bundle installed despite mistakes of its author, such as another version in its ClusterServiceVersion than in the catalog. Once per bundle.",
  },
  BundleContentChanged: {
    type: "Warning",
    on: EXTENSION,
    when: "The catalog has a different image for the installed bundle and version. The controller keeps the installed content.",
  },
  CertificateIssued: {
    type: "Normal",
    on: CERTIFICATE,
    when: "Serving certificate for webhooks, API services or a server issued.",
  },
  CertificatePrepared: {
    type: "Normal",
    on: CERTIFICATE,
    when: "Next serving certificate issued. Its authority is trusted from now on.",
  },
  CertificateRenewed: { type: "Normal", on: CERTIFICATE, when: "Serving certificate replaced before it expired." },
  CertificateRestored: {
    type: "Warning",
    on: ["Secret"],
    when: "Damaged, emptied or deleted Secret restored from the certificate in use.",
  },
  CertificateRefused: {
    type: "Warning",
    on: ["Secret"],
    when: "Secret not written, because it belongs to another owner.",
  },
  PermissionsMissing: {
    type: "Warning",
    on: EXTENSION,
    when: "The ServiceAccount lacks permissions. The message contains the command that prints the roles.",
  },
  PermissionsGranted: { type: "Normal", on: EXTENSION, when: "Missing permissions granted." },
  RequirementsNotMet: {
    type: "Warning",
    on: EXTENSION,
    when: "The cluster lacks a Kubernetes version, CustomResourceDefinition or API that the bundle requires. The installation waits only with `spec.install.requirements: Enforce`.",
  },
  NotUpgradeable: {
    type: "Warning",
    on: EXTENSION,
    when: "Upgrade held, because condition Upgradeable of the OperatorCondition is False or cannot be read. The message contains the reason.",
  },
  AwaitingApproval: {
    type: "Warning",
    on: EXTENSION,
    when: "Plan waits for approval. The message contains its changes and the command that approves it.",
  },
  Approved: { type: "Normal", on: EXTENSION, when: "Approved plan applied. The message contains its digest." },
  Suspended: { type: "Normal", on: EXTENSION, when: "Reconciliation stopped by `spec.suspend`." },
  Resumed: { type: "Normal", on: EXTENSION, when: "Reconciliation resumed." },
  Drifted: {
    type: "Warning",
    on: EXTENSION,
    when: "Objects changed or deleted. The message contains the field and its field manager. Once per change with `spec.drift.policy: Warn`.",
  },
  DriftCorrected: { type: "Normal", on: EXTENSION, when: "Drifted objects corrected." },
  Healthy: { type: "Normal", on: EXTENSION, when: "Condition `Available` became True." },
  Unhealthy: {
    type: "Warning",
    on: EXTENSION,
    when: "Condition `Available` became False after a rollout, or because Pods cannot be created.",
  },
  ProgressDeadlineExceeded: {
    type: "Warning",
    on: EXTENSION,
    when: "Rollout exceeded `spec.progressDeadlineMinutes`.",
  },
  ClusterUpgradeBlocked: {
    type: "Warning",
    on: EXTENSION,
    when: "Installed bundle blocks cluster upgrades. The message contains its maximum version and the remedy.",
  },
  ClusterUpgradeUnblocked: { type: "Normal", on: EXTENSION, when: "Extension no longer blocks cluster upgrades." },
  RequiredByOthers: {
    type: "Warning",
    on: EXTENSION,
    when: "Uninstall waits until dependents are gone or an annotation forces it.",
  },
  BackupRequired: {
    type: "Warning",
    on: EXTENSION,
    when: "Uninstall waits for a backup, because `spec.uninstall.backup` is Required. The message contains the first custom resource without a current backup.",
  },
  ConversionNeeded: {
    type: "Warning",
    on: EXTENSION,
    when: "Uninstall, upgrade or rollback stopped, because kept custom resources need the conversion webhook that it would remove. The message contains the remedy.",
  },
  ConversionDropped: {
    type: "Normal",
    on: EXTENSION,
    when: "`conversion.strategy` of a CustomResourceDefinition set to None, because its conversion webhook is removed.",
  },
  Uninstalled: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects removed. Once per stage of the uninstall.",
  },
  Kept: { type: "Normal", on: EXTENSION, when: "CustomResourceDefinition kept after an upgrade or uninstall." },
  Orphaned: { type: "Normal", on: EXTENSION, when: "Extension deleted with `--cascade=orphan`. Its objects and releases stay." },
  FinalizerRemoved: {
    type: "Warning",
    on: EXTENSION,
    when: "Finalizer `orphan` or `foregroundDeletion` removed from an extension that is not being deleted.",
  },
  UninstalledByGarbageCollector: {
    type: "Warning",
    on: EXTENSION,
    when: "Extension deleted without a ServiceAccount, or by force. The garbage collector deletes its objects, CustomResourceDefinitions stay.",
  },
  InvalidConfiguration: { type: "Warning", on: EXTENSION, when: "`spec.config` does not match the schema of the bundle." },
  UnsatisfiedDependencies: {
    type: "Warning",
    on: EXTENSION,
    when: "No bundle can be installed: a dependency is missing, or a dependent would lose a dependency. The message lists bundles that provide it.",
  },
  DependencyPlanned: {
    type: "Normal",
    on: EXTENSION,
    when: "Plan to install a bundle with its dependencies stored in the status. The message contains the bundles and, if the plan replaces an earlier one, the reason.",
  },
  DependencyPlanFailed: {
    type: "Warning",
    on: EXTENSION,
    when: "Plan rolled back because one of its extensions failed. The controller retries after a delay.",
  },
  DependencyCreated: {
    type: "Normal",
    on: EXTENSION,
    when: "ClusterExtension created for a dependency (`spec.dependencies.policy: Install`).",
  },
  DependencyRemoved: {
    type: "Normal",
    on: EXTENSION,
    when: "Automatically created dependency uninstalled, because no extension needs it any longer.",
  },
  DependencyKept: {
    type: "Normal",
    on: EXTENSION,
    when: "Automatically created dependency kept, because another extension needs it.",
  },
  Retrying: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "Reconcile failed with a retryable error, as in condition `Progressing`. Once per message.",
  },
  ImageRejected: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "Image rejected by the signature policy. The controller retries. Once per message, instead of `Retrying`.",
  },
  Blocked: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "The object must be changed, as condition `Progressing` explains.",
  },
  InvalidContent: {
    type: "Warning",
    on: ["ClusterCatalog"],
    when: "New content with errors served. The message contains the number of errors and the first three.",
  },
  ContentStored: { type: "Normal", on: ["ClusterCatalog"], when: "New content served. The message contains its size and image digest." },
  Recovered: {
    type: "Normal",
    on: ["ClusterCatalog"],
    when: "Condition `Progressing` is Succeeded again after Retrying or Blocked.",
  },
  Unavailable: { type: "Warning", on: ["ClusterCatalog"], when: "Content no longer served." },
  UserSpecifiedUnavailable: {
    type: "Normal",
    on: ["ClusterCatalog"],
    when: "Content no longer served, because `spec.availabilityMode` is Unavailable.",
  },
  ContentRemoved: { type: "Normal", on: ["ClusterCatalog"], when: "Content no longer served, because the catalog is deleted." },
  OperatorStatusChanged: {
    type: "Normal",
    on: ["ClusterOperator"],
    when: "Conditions of ClusterOperator `olm` changed.",
  },
  RegistrySettingsInvalid: {
    type: "Warning",
    on: REGISTRIES,
    when: "Part of the object without effect on pulls: an invalid mirror, registries.conf or certificate. Once per message.",
  },
  OperatorVersionChanged: { type: "Normal", on: ["ClusterOperator"], when: "Versions that ClusterOperator `olm` reports changed." },
} as const satisfies Record<string, EventDescription>;

/** Reason of an Event. */
export type EventReason = keyof typeof EVENTS;

/** Records Events about objects. */
export interface EventSink {
  /** @param message verb, result, object and cause; truncated to 1,024 characters. */
  record<R extends EventReason>(object: KubeObject, type: (typeof EVENTS)[R]["type"], reason: R, message: string): void;
}

type WarningReason = { [R in EventReason]: (typeof EVENTS)[R]["type"] extends "Warning" ? R : never }[EventReason];

/** Problem types with their own Event reason, which replaces the reason of the condition. */
const PROBLEM_EVENTS = { MissingPermissions: "PermissionsMissing", ImageRejected: "ImageRejected" } as const;

/**
 * Returns the reason of the Event for a condition that got worse: the reason of the first Error in `PROBLEM_EVENTS`, else the reason of the condition
 * if it is an Event reason, else Blocked.
 */
export function getWarningReason(
  reason: string,
  problems: readonly { readonly type: string; readonly severity: string }[] = [],
): WarningReason {
  for (const { type, severity } of problems)
    if (severity === "Error" && Object.hasOwn(PROBLEM_EVENTS, type)) return PROBLEM_EVENTS[type as keyof typeof PROBLEM_EVENTS];
  return isWarning(reason) ? reason : "Blocked";
}

function isWarning(reason: string): reason is WarningReason {
  return Object.hasOwn(EVENTS, reason) && EVENTS[reason as EventReason].type === "Warning";
}
