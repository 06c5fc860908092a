import type { KubeObject } from "./k8s.ts";

/** Describes the Events of one reason. */
export interface EventDescription {
  readonly type: "Normal" | "Warning";
  /** Kinds of the involved objects. */
  readonly on: readonly ("ClusterExtension" | "ClusterCatalog" | "ClusterOperator" | "Secret")[];
  /** When it is recorded, and the content of its message; sentences in Markdown. */
  readonly when: string;
}

const EXTENSION = ["ClusterExtension"] as const;
/** Certificates for bundles and serving certificates of the servers. */
const CERTIFICATE = ["ClusterExtension", "Secret"] as const;

/** All Event reasons, in the order of the reference. Reasons are stable: alerts and scripts rely on them. */
export const EVENTS = {
  Resolved: {
    type: "Normal",
    on: EXTENSION,
    when: "Resolution selected another bundle or catalog than before; the message explains the choice. If no bundle is selected, see `Retrying` and `Blocked`.",
  },
  Installed: { type: "Normal", on: EXTENSION, when: "The first bundle was applied completely; with the number of created objects." },
  Upgraded: {
    type: "Normal",
    on: EXTENSION,
    when: "Another bundle or configuration was applied completely; with the previous bundle and the changes.",
  },
  Pruned: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects that the new release does not contain were deleted, or a CustomResourceDefinition that an earlier release kept; with their names.",
  },
  Recreated: {
    type: "Normal",
    on: EXTENSION,
    when: "An upgrade deleted and recreated a Deployment or binding, because an immutable field changed; with their names.",
  },
  Adopted: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects left by a deleted ClusterExtension, such as a kept CustomResourceDefinition, became part of the release.",
  },
  HandedOver: {
    type: "Normal",
    on: EXTENSION,
    when: "An object moved from one ClusterExtension to another: the next release of its owner does not contain it, and the release of the other one does. Recorded for both extensions; with the object and the owner.",
  },
  TakenOver: {
    type: "Normal",
    on: EXTENSION,
    when: "The controller adopted an extension of the Go operator-controller; with the changes.",
  },
  RolledBack: {
    type: "Normal",
    on: EXTENSION,
    when: "An earlier release was restored: the API server rejected an upgrade midway, the upgrade missed its deadline, or an annotation requested it.",
  },
  ApplyFailed: {
    type: "Warning",
    on: EXTENSION,
    when: "The API server rejected an object while a bundle was applied; with the changes until then and the error.",
  },
  InstallRolledBack: {
    type: "Warning",
    on: EXTENSION,
    when: "A first installation exceeded a ResourceQuota, and the objects that it had created were deleted.",
  },
  ApiWarning: {
    type: "Warning",
    on: EXTENSION,
    when: "The API server, an admission policy or a webhook warned about objects of a bundle without rejecting them, for example about the Pod Security level of the namespace. Once per bundle and configuration, at most six.",
  },
  ProxyChanged: {
    type: "Normal",
    on: EXTENSION,
    when: "A new release changed proxy variables of Deployments to match the cluster proxy; with the variables and their source.",
  },
  ManifestNormalized: {
    type: "Normal",
    on: EXTENSION,
    when: "A manifest of the bundle was changed before it was applied, because the API server would reject it unchanged.",
  },
  CrdUpgradeSafety: {
    type: "Normal",
    on: EXTENSION,
    when: "The CustomResourceDefinition upgrade check ignored a finding or made a change, such as removing a version from the stored versions.",
  },
  UpgradeConstraintOverridden: {
    type: "Warning",
    on: EXTENSION,
    when: "An upgrade went to a bundle without an upgrade edge (`upgradeConstraintPolicy: SelfCertified`), or to a bundle that another channel entry skips. Once per decision.",
  },
  BundleWarning: {
    type: "Warning",
    on: EXTENSION,
    when: "A bundle was installed despite mistakes of its author: its ClusterServiceVersion or annotations name another version or package than the catalog, or it has several ClusterServiceVersions, or one without name or version. With all mistakes; once per bundle.",
  },
  BundleContentChanged: {
    type: "Warning",
    on: EXTENSION,
    when: "The catalog has another image for the installed bundle and version; the installed content is kept.",
  },
  CertificateIssued: {
    type: "Normal",
    on: CERTIFICATE,
    when: "operator-controller issued a serving certificate for webhooks or API services, or a server issued its own; with the Secret and the reason.",
  },
  CertificatePrepared: {
    type: "Normal",
    on: CERTIFICATE,
    when: "The next serving certificate was issued, and its authority is trusted from now on; with the Secret.",
  },
  CertificateRenewed: { type: "Normal", on: CERTIFICATE, when: "A serving certificate was replaced before it expired; with the Secret." },
  CertificateRestored: {
    type: "Warning",
    on: ["Secret"],
    when: "The Secret with a server's own certificate was damaged, emptied or deleted, and was restored from the certificate in use; with the cause.",
  },
  CertificateRefused: {
    type: "Warning",
    on: ["Secret"],
    when: "The Secret for a server's own certificate belongs to another owner, so the server does not write it. The message says what to do.",
  },
  PermissionsMissing: {
    type: "Warning",
    on: EXTENSION,
    when: "The ServiceAccount lacks permissions; with all of them and the command that prints the roles.",
  },
  PermissionsGranted: { type: "Normal", on: EXTENSION, when: "The ServiceAccount has the permissions that it lacked." },
  RequirementsNotMet: {
    type: "Warning",
    on: EXTENSION,
    when: "A bundle requires a newer Kubernetes version, or CustomResourceDefinitions or APIs that are not served; with each of them. With `spec.install.requirements: Enforce` the installation waits, otherwise the Event is recorded once.",
  },
  AwaitingApproval: {
    type: "Warning",
    on: EXTENSION,
    when: "A plan waits for approval; with its changes and the command that approves it.",
  },
  Approved: { type: "Normal", on: EXTENSION, when: "An approved plan is being applied; with its digest." },
  Suspended: { type: "Normal", on: EXTENSION, when: "`spec.suspend` was set to true: reconciliation stops." },
  Resumed: { type: "Normal", on: EXTENSION, when: "`spec.suspend` was set to false: reconciliation resumes." },
  Drifted: {
    type: "Warning",
    on: EXTENSION,
    when: "Objects were changed or deleted; with object, field and field manager, or a note that the change happened during the comparison. With `spec.drift.policy: Warn` once per change.",
  },
  DriftCorrected: { type: "Normal", on: EXTENSION, when: "Drifted objects were corrected; with their names." },
  Healthy: { type: "Normal", on: EXTENSION, when: "Condition `Available` became True." },
  Unhealthy: {
    type: "Warning",
    on: EXTENSION,
    when: "Condition `Available` became False after a rollout, or because Pods cannot be created; with object and cause.",
  },
  ProgressDeadlineExceeded: {
    type: "Warning",
    on: EXTENSION,
    when: "A rollout took longer than `spec.progressDeadlineMinutes`, or was rolled back for that reason.",
  },
  ClusterUpgradeBlocked: {
    type: "Warning",
    on: EXTENSION,
    when: "An installed bundle started to block cluster upgrades; with the maximum version and the remedy.",
  },
  ClusterUpgradeUnblocked: { type: "Normal", on: EXTENSION, when: "The extension no longer blocks cluster upgrades." },
  RequiredByOthers: {
    type: "Warning",
    on: EXTENSION,
    when: "A deleted extension has dependents: the controller removes nothing until they are gone or the extension is annotated; with the dependents and their dependencies.",
  },
  ConversionNeeded: {
    type: "Warning",
    on: EXTENSION,
    when: "An uninstall, upgrade or rollback would keep a CustomResourceDefinition and remove the conversion webhook that its custom resources need: nothing is removed; with the custom resources and the remedy.",
  },
  ConversionDropped: {
    type: "Normal",
    on: EXTENSION,
    when: "`conversion.strategy` of a CustomResourceDefinition was set to None because its conversion webhook is removed; with the reason why that is possible.",
  },
  Uninstalled: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects of a deleted extension were deleted; once per stage of the uninstall, with the number of objects.",
  },
  Kept: { type: "Normal", on: EXTENSION, when: "A CustomResourceDefinition was kept after an upgrade or uninstall; with the reason." },
  Orphaned: { type: "Normal", on: EXTENSION, when: "An extension was deleted with `--cascade=orphan`: objects and releases stay." },
  FinalizerRemoved: {
    type: "Warning",
    on: EXTENSION,
    when: "Finalizer `orphan` or `foregroundDeletion` was removed from an extension that was not being deleted, because it would have affected a later deletion.",
  },
  UninstalledByGarbageCollector: {
    type: "Warning",
    on: EXTENSION,
    when: "An extension without a ServiceAccount, or with forced deletion, was deleted: the garbage collector deletes its objects, CustomResourceDefinitions stay.",
  },
  InvalidConfiguration: { type: "Warning", on: EXTENSION, when: "`spec.config` does not match the schema of the bundle." },
  UnsatisfiedDependencies: {
    type: "Warning",
    on: EXTENSION,
    when: "No bundle can be installed, because a dependency is neither installed nor served, or because other extensions would lose a dependency; with bundles that provide it.",
  },
  DependencyCreated: {
    type: "Normal",
    on: EXTENSION,
    when: "`spec.dependencies.policy: Install` created a ClusterExtension for a dependency; with its name, package and catalog.",
  },
  DependencyRemoved: {
    type: "Normal",
    on: EXTENSION,
    when: "A ClusterExtension that was created for a deleted extension is deleted too, because it has no other dependents; with its name.",
  },
  DependencyKept: {
    type: "Normal",
    on: EXTENSION,
    when: "A ClusterExtension that was created for a deleted extension is kept, because another extension needs it; with both names.",
  },
  Retrying: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "Reconciliation failed with a retryable error, and condition `Progressing` reports it; once per message.",
  },
  ImageRejected: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "The signature policy rejected an image, for example because a signature is missing, and condition `Progressing` reports it. The controller retries. Once per message, instead of `Retrying`.",
  },
  Blocked: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "Reconciliation needs a change of the object, and condition `Progressing` reports the reason.",
  },
  InvalidContent: {
    type: "Warning",
    on: ["ClusterCatalog"],
    when: "New content with errors is served; with their number and the first three. Condition `Valid` has the first ten.",
  },
  ContentStored: { type: "Normal", on: ["ClusterCatalog"], when: "New content is served; with its size and the digest of the image." },
  Recovered: {
    type: "Normal",
    on: ["ClusterCatalog"],
    when: "Condition `Progressing` is Succeeded again after Retrying or Blocked; with the previous error.",
  },
  Unavailable: { type: "Warning", on: ["ClusterCatalog"], when: "Content is no longer served." },
  UserSpecifiedUnavailable: {
    type: "Normal",
    on: ["ClusterCatalog"],
    when: "Content is no longer served, because `spec.availabilityMode` is Unavailable.",
  },
  ContentRemoved: { type: "Normal", on: ["ClusterCatalog"], when: "Content is no longer served, because the catalog is deleted." },
  OperatorStatusChanged: {
    type: "Normal",
    on: ["ClusterOperator"],
    when: "Conditions of ClusterOperator `olm` changed; with each change.",
  },
  OperatorVersionChanged: { type: "Normal", on: ["ClusterOperator"], when: "Versions that ClusterOperator `olm` reports changed." },
} as const satisfies Record<string, EventDescription>;

/** Reason of an Event. */
export type EventReason = keyof typeof EVENTS;

/** Records Events about objects. */
export interface EventSink {
  /** @param message verb, result, object and cause; cut at 1,024 characters. */
  record<R extends EventReason>(object: KubeObject, type: (typeof EVENTS)[R]["type"], reason: R, message: string): void;
}

type WarningReason = { [R in EventReason]: (typeof EVENTS)[R]["type"] extends "Warning" ? R : never }[EventReason];

/** Problem types with their own Event reason, which replaces the reason of the condition. */
const PROBLEM_EVENTS = { MissingPermissions: "PermissionsMissing", ImageRejected: "ImageRejected" } as const;

/**
 * Returns the reason of the Event for a condition that got worse: that of the first Error in `PROBLEM_EVENTS`, else the reason of the
 * condition if it is an Event reason, else Blocked.
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
