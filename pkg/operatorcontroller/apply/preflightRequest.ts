import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import type { Problem } from "../../api/problems.ts";
import type { Client } from "../../kube/client.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { ObjectChecker } from "../crds/existingObjects.ts";
import type { StorageMigrator } from "../crds/storageMigrator.ts";
import type { MissingPermissions } from "../permissions/permissions.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { Applier } from "./applier.ts";
import type { DryRun } from "./dryRun.ts";
import type { Handovers, Need } from "./handovers.ts";
import type { ServedKinds } from "./preparedObjects.ts";
import type { PruneRequest } from "./prune.ts";

/**
 * The kinds of findings:
 *
 * | kindNotServed | the cluster does not serve a kind                                                                       |
 * | permissions   | the ServiceAccount lacks permissions                                                                    |
 * | read          | an object cannot be read                                                                                |
 * | ownership     | an object belongs to another owner                                                                      |
 * | kindConflict  | another CustomResourceDefinition already defines a kind                                                 |
 * | crdUpgrade    | a CustomResourceDefinition cannot replace the existing one                                              |
 * | namespace     | a namespace does not exist                                                                              |
 * | dryRun        | the API server denies an object                                                                         |
 * | quota         | a ResourceQuota does not allow all objects together                                                     |
 * | conversion    | custom resources of a definition that stays need a conversion webhook that the release removes          |
 */
export type FindingKind =
  | "kindNotServed"
  | "permissions"
  | "read"
  | "ownership"
  | "kindConflict"
  | "crdUpgrade"
  | "namespace"
  | "dryRun"
  | "quota"
  | "conversion";

/** A reason why the controller does not apply a release, as found by the preflight. */
export interface PreflightFinding {
  readonly kind: FindingKind;
  /** The reason. The controller's error contains this text. */
  readonly message: string;
  /** Suggested fix, if known. */
  readonly next?: string;
  /** The entries in `status.problems` for this finding. */
  readonly problems: readonly Problem[];
}

/** Returns a finding that `status.problems` reports as one problem, with the same text. */
export function newFinding(kind: FindingKind, problem: Problem): PreflightFinding {
  const { message, next } = problem;
  return { kind, message, ...(next === undefined ? {} : { next }), problems: [problem] };
}

/** Separators between the message of a finding and the suggested fix. Default: "; ". */
const SEPARATORS: Readonly<Partial<Record<FindingKind, string>>> = {
  kindNotServed: ": ",
  namespace: ": ",
};

/** Formats a finding as one text: the message, followed by the suggested fix. */
export function formatPreflightFinding({ kind, message, next }: PreflightFinding): string {
  return next === undefined ? message : `${message}${SEPARATORS[kind] ?? "; "}${next}`;
}

/** The release to check, with its extension and the identity that applies it. */
export interface PreflightRequest {
  /** Prepared objects. */
  desired: readonly KubeObject[];
  kinds: ServedKinds;
  /** Reports whether another bundle, which is installed at the same time, defines a kind. Default: none does. */
  isAwaited?: ((gvk: GroupVersionKind) => boolean) | undefined;
  /** The last deployed release. Its objects count as owned by the extension even without owner labels. */
  base: ReleaseRecord | undefined;
  owner: Owner;
  extensionExists: ExtensionExists;
  extension: Readonly<ClusterExtension>;
  /**
   * Decides which objects of other extensions the release may take over. Only the controller knows the target release of every extension. A plan is
   * computed outside the controller and therefore treats such objects as denied.
   */
  handovers: Pick<Handovers, "excludes">;
  /**
   * Reports whether this extension adopts an object of another owner before the release is applied, as in a conversion from OLM v0. Default: false.
   * The dry run of such an object keeps the live order of its lists, like the apply after a conversion.
   */
  willBeAdopted?: ((live: KubeObject) => boolean) | undefined;
  /** Reads objects, with the identity of `client`. */
  applier: Applier;
  dryRun: DryRun;
  /** The identity that applies the release. */
  client: Pick<Client, "get" | "list" | "listPage" | "patch" | "raw">;
  /** The controller's own identity, for discovery and for owners of OLM v0. */
  discovery: Pick<Client, "resourceFor" | "list">;
  /** Looks up the missing permissions of `client`. Absent if `client` is not the extension's identity, such as an administrator. */
  permissions?: (() => Promise<MissingPermissions | undefined>) | undefined;
  /** How to grant a permission that a check finds to be missing. */
  advice: string;
  /** The objects that the release removes. */
  pruning: PruneRequest;
  /** Checks custom resources before their CRD is upgraded. Default: a new checker. */
  objects?: ObjectChecker | undefined;
  /** Runs storage migrations. Default: a migration that the release needs is only reported. */
  migrator?: StorageMigrator | undefined;
  /** Writes nothing. Also removes versions from status.storedVersions of a CRD, which precedes the dry run, only in a dry run. */
  onlyTries?: boolean;
  signal: AbortSignal;
}

/** The results of the checks so far. Each check adds its results and can use the results of earlier checks. */
export interface Checked {
  /** The live objects, by `objectKey`. */
  live: LiveObjects;
  /** The objects as the dry run returned them. */
  after: LiveObjects;
  /** Objects to take over from other extensions. */
  needs: Need[];
  /** Notes about CRD upgrades. */
  notes: string[];
  findings: PreflightFinding[];
  /** Keys of objects with a finding. Later checks skip these objects, and the result of applying them is unknown. */
  readonly refused: Set<string>;
  /** Keys of objects that the dry run skips: it would deny them only because an earlier change was also made in a dry run. */
  readonly untried: Set<string>;
  /** Missing permissions that `spec.install.permissions: Warn` tolerates. */
  tolerated?: MissingPermissions | undefined;
  /** Permissions that may be missing. Later checks decide whether they are needed. */
  uncertain?: MissingPermissions | undefined;
}

/** The reason why a check denies the release. */
export interface Refusal {
  readonly findings: readonly PreflightFinding[];
  /** The error that the controller throws for all findings. */
  readonly error: unknown;
}

/** One check of a preflight. */
export interface PreflightCheck {
  /** The kind of its first finding. */
  readonly name: FindingKind;
  /** @throws Error if it cannot check. */
  run(request: PreflightRequest, checked: Checked): Promise<Refusal | undefined>;
}
