import type { KubeObject } from "./k8s.ts";

/** What an Event of one reason is about. */
export interface EventDescription {
  readonly type: "Normal" | "Warning";
  /** Kinds of the objects that it is about. */
  readonly on: readonly ("ClusterExtension" | "ClusterCatalog" | "ClusterOperator" | "Secret")[];
  /** When it is recorded, and what its message holds; a sentence in Markdown. */
  readonly when: string;
}

const EXTENSION = ["ClusterExtension"] as const;
/** About a certificate for a bundle, and about one of the servers' own. */
const CERTIFICATE = ["ClusterExtension", "Secret"] as const;

/** Every reason that an Event of ours can have, in the order of the reference. Names are stable: alerts and scripts rely on them. */
export const EVENTS = {
  Resolved: {
    type: "Normal",
    on: EXTENSION,
    when: "Resolution came to another bundle or catalog than before, or to one again; with why it is that one. Why it comes to none is told by `Retrying` and `Blocked`.",
  },
  Installed: { type: "Normal", on: EXTENSION, when: "A first bundle was applied completely; with how many objects were created." },
  Upgraded: {
    type: "Normal",
    on: EXTENSION,
    when: "Another bundle or configuration was applied completely; from which bundle, and with what was done.",
  },
  Pruned: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects that the new release no longer holds were deleted, or a CustomResourceDefinition that an earlier release had kept; with their names.",
  },
  Recreated: {
    type: "Normal",
    on: EXTENSION,
    when: "A Deployment or binding was deleted and created anew in an upgrade, since a field of it cannot be changed; with their names.",
  },
  Adopted: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects that a ClusterExtension left behind which does not exist any more were taken into a release, such as a CustomResourceDefinition that had been kept.",
  },
  HandedOver: {
    type: "Normal",
    on: EXTENSION,
    when: "An object passed from one ClusterExtension to another: the owner's next release no longer contains it and the other one's does. The extension that takes it records the object and the owner; the one that leaves it records the objects.",
  },
  TakenOver: {
    type: "Normal",
    on: EXTENSION,
    when: "What another operator-controller had installed is ours from now on; with what that changed.",
  },
  RolledBack: {
    type: "Normal",
    on: EXTENSION,
    when: "An earlier release was brought back: after an upgrade was refused in the middle or missed its deadline, or because an annotation asks for it.",
  },
  ApplyFailed: {
    type: "Warning",
    on: EXTENSION,
    when: "Applying a bundle was refused in the middle; with what had been done until then, and what refused it.",
  },
  InstallUndone: {
    type: "Warning",
    on: EXTENSION,
    when: "A first install did not fit into a ResourceQuota, and what it had created was removed again.",
  },
  ApiWarning: {
    type: "Warning",
    on: EXTENSION,
    when: "The API server, or an admission policy or webhook, warned about objects of a bundle without refusing them, such as of Pods that the namespace's Pod Security level does not allow. Once for a bundle and configuration; at most six.",
  },
  ProxyChanged: {
    type: "Normal",
    on: EXTENSION,
    when: "The Deployments of an extension got other proxy variables with a new release, since the proxy of the cluster is another one; with the names of the variables and where they come from.",
  },
  ManifestAdjusted: {
    type: "Normal",
    on: EXTENSION,
    when: "A manifest of the bundle was changed before it was applied, since the API server would not take it as it is.",
  },
  CrdUpgradeSafety: {
    type: "Normal",
    on: EXTENSION,
    when: "What the check of a CustomResourceDefinition upgrade passed over or did, such as taking a version from its stored versions.",
  },
  UnadvisedBundle: {
    type: "Warning",
    on: EXTENSION,
    when: "A bundle is moved to although no upgrade edge leads to it, which `upgradeConstraintPolicy: SelfCertified` overrides, or although another entry of the channel skips it. Once for each decision.",
  },
  FlawedBundle: {
    type: "Warning",
    on: EXTENSION,
    when: "A bundle is taken although its author has made a mistake: its ClusterServiceVersion or annotations have another version or package than its catalog says, or it has several ClusterServiceVersions, or one without name or version. With all of these; once for a bundle.",
  },
  BundleContentChanged: {
    type: "Warning",
    on: EXTENSION,
    when: "The catalog names another image for the installed bundle and version; what was installed stays.",
  },
  CertificateIssued: {
    type: "Normal",
    on: CERTIFICATE,
    when: "operator-controller made a serving certificate for webhooks or API services, or one of the servers made its own; with its Secret, and why a new one was needed.",
  },
  CertificatePrepared: {
    type: "Normal",
    on: CERTIFICATE,
    when: "The successor of a serving certificate was made, and its authority is trusted from now on; with its Secret.",
  },
  CertificateRenewed: { type: "Normal", on: CERTIFICATE, when: "A serving certificate was replaced before its end; with its Secret." },
  CertificateRestored: {
    type: "Warning",
    on: ["Secret"],
    when: "The Secret of a server's own certificate was damaged, emptied or deleted, and was written back from what is served; with what was wrong.",
  },
  CertificateRefused: {
    type: "Warning",
    on: ["Secret"],
    when: "The Secret for a server's own certificate belongs to another owner, so the server does not write it. The message says what to do.",
  },
  PermissionsMissing: {
    type: "Warning",
    on: EXTENSION,
    when: "The ServiceAccount lacks rights; with all of them and the command that prints the roles.",
  },
  PermissionsGranted: { type: "Normal", on: EXTENSION, when: "The ServiceAccount has got the rights that it lacked." },
  RequirementsNotMet: {
    type: "Warning",
    on: EXTENSION,
    when: "A bundle wants a newer Kubernetes, or definitions or APIs of others that are not served; with each of them. Under `spec.install.requirements: Enforce` it is not installed until they are, otherwise it is told once.",
  },
  AwaitingApproval: { type: "Warning", on: EXTENSION, when: "A change waits for approval; with what it would do and how to approve it." },
  Approved: { type: "Normal", on: EXTENSION, when: "A change that was approved is carried out; with the digest of its plan." },
  Suspended: { type: "Normal", on: EXTENSION, when: "`spec.suspend` was set: nothing is done any more." },
  Resumed: { type: "Normal", on: EXTENSION, when: "`spec.suspend` was taken back." },
  Drifted: {
    type: "Warning",
    on: EXTENSION,
    when: "Objects were found changed or deleted; with object, field and who changed it, or that it happened while they were compared. With `spec.drift.policy: Warn` once for each, until it is different.",
  },
  DriftCorrected: { type: "Normal", on: EXTENSION, when: "Objects that had drifted were put back; with their names." },
  Healthy: { type: "Normal", on: EXTENSION, when: "Condition `Available` has become True." },
  Unhealthy: {
    type: "Warning",
    on: EXTENSION,
    when: "Condition `Available` has become False after a rollout, or since Pods cannot be created; with object and cause.",
  },
  ProgressDeadlineExceeded: {
    type: "Warning",
    on: EXTENSION,
    when: "A rollout takes longer than `spec.progressDeadlineMinutes`, or was rolled back for that.",
  },
  ClusterUpgradeBlocked: {
    type: "Warning",
    on: EXTENSION,
    when: "An installed bundle has begun to keep the cluster from being upgraded; with the maximum and the remedy.",
  },
  ClusterUpgradeUnblocked: { type: "Normal", on: EXTENSION, when: "It has stopped to do so." },
  RequiredByOthers: {
    type: "Warning",
    on: EXTENSION,
    when: "An extension is deleted on which installed bundles of others depend: nothing is removed until they do not, or it is annotated; with who they are and what they need.",
  },
  ConversionNeeded: {
    type: "Warning",
    on: EXTENSION,
    when: "An uninstall, upgrade or rollback would keep a CustomResourceDefinition and remove the conversion webhook that its custom resources need: nothing is removed; with the custom resources and what to do.",
  },
  ConversionDropped: {
    type: "Normal",
    on: EXTENSION,
    when: "`conversion.strategy` of a CustomResourceDefinition was set to None because its conversion webhook is removed; with the reason why that is possible.",
  },
  Uninstalled: {
    type: "Normal",
    on: EXTENSION,
    when: "Objects of a deleted extension were deleted; one for each stage of an uninstall, with how many.",
  },
  Kept: { type: "Normal", on: EXTENSION, when: "A CustomResourceDefinition stays after an upgrade or uninstall; with the reason." },
  Orphaned: { type: "Normal", on: EXTENSION, when: "An extension was deleted with `--cascade=orphan`: objects and releases stay." },
  FinalizerRemoved: {
    type: "Warning",
    on: EXTENSION,
    when: "Finalizer `orphan` or `foregroundDeletion` was on an extension that was not being deleted, and was removed: it would have decided what a later deletion leaves behind.",
  },
  UninstalledByGarbageCollector: {
    type: "Warning",
    on: EXTENSION,
    when: "An extension was deleted by force, or names no ServiceAccount: its objects go by their ownerReferences, CustomResourceDefinitions stay.",
  },
  InvalidConfiguration: { type: "Warning", on: EXTENSION, when: "`spec.config` does not fit the bundle." },
  UnsatisfiedDependencies: {
    type: "Warning",
    on: EXTENSION,
    when: "No bundle can be installed, since what it requires is neither installed nor served, or since others would lose what they require; with what would supply it.",
  },
  DependencyCreated: {
    type: "Normal",
    on: EXTENSION,
    when: "`spec.dependencies.policy: Install` made a ClusterExtension that the bundle depends on; with its name, package and catalog.",
  },
  DependencyRemoved: {
    type: "Normal",
    on: EXTENSION,
    when: "A ClusterExtension that was made for a deleted one is deleted with it, since nothing else needs it; with its name.",
  },
  DependencyKept: {
    type: "Normal",
    on: EXTENSION,
    when: "A ClusterExtension that was made for a deleted one stays, since another extension needs it; with both names.",
  },
  Retrying: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "A pass failed with something that time or somebody else may cure, and condition `Progressing` says so; once for each text.",
  },
  ImageRejected: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "The signature policy does not let an image pass, and condition `Progressing` says why, such as that a signature is missing; it is tried again. Once for each text, in place of `Retrying`.",
  },
  Blocked: {
    type: "Warning",
    on: ["ClusterExtension", "ClusterCatalog"],
    when: "Nothing goes on before the object is edited, and condition `Progressing` says why.",
  },
  InvalidContent: {
    type: "Warning",
    on: ["ClusterCatalog"],
    when: "New content is served in which errors were found; with their number and the first three. The first ten are in condition `Valid`.",
  },
  ContentStored: { type: "Normal", on: ["ClusterCatalog"], when: "New content is served; with its size and the image's digest." },
  Recovered: {
    type: "Normal",
    on: ["ClusterCatalog"],
    when: "Condition `Progressing` is Succeeded again after it was Retrying or Blocked; with what had been wrong.",
  },
  Unavailable: { type: "Warning", on: ["ClusterCatalog"], when: "Content that was served is served no longer." },
  UserSpecifiedUnavailable: { type: "Normal", on: ["ClusterCatalog"], when: "The same, since `spec.availabilityMode` is Unavailable." },
  ContentRemoved: { type: "Normal", on: ["ClusterCatalog"], when: "The same, since the catalog is deleted." },
  OperatorStatusChanged: {
    type: "Normal",
    on: ["ClusterOperator"],
    when: "Conditions of ClusterOperator `olm` changed; with each change.",
  },
  OperatorVersionChanged: { type: "Normal", on: ["ClusterOperator"], when: "Versions that ClusterOperator `olm` reports changed." },
} as const satisfies Record<string, EventDescription>;

/** Reason of an Event of ours. */
export type EventReason = keyof typeof EVENTS;

/** Takes Events about objects. */
export interface EventSink {
  /** @param message verb, result, object and cause; cut at 1,024 characters. */
  record<R extends EventReason>(object: KubeObject, type: (typeof EVENTS)[R]["type"], reason: R, message: string): void;
}

type WarningReason = { [R in EventReason]: (typeof EVENTS)[R]["type"] extends "Warning" ? R : never }[EventReason];

/** The types of problems that have an Event reason of their own, in place of the condition's reason. */
const PROBLEM_EVENTS = { MissingPermissions: "PermissionsMissing", ImageRejected: "ImageRejected" } as const;

/**
 * Returns the reason of the Event about a condition that changed for the worse: that of the first Error with an Event of its own, else the
 * condition's reason if an Event may have it, else Blocked.
 */
export function warningReason(
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
