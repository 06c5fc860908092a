import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Problem } from "../../api/problems.ts";
import type { Client } from "../../kube/client.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { ObjectChecker } from "../crds/existingObjects.ts";
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

/** A reason, found by the preflight, why the controller does not apply a release. */
export interface PreflightFinding {
  readonly kind: FindingKind;
  /** The reason. The error of the controller contains it. */
  readonly message: string;
  /** What to do about it, if that is known. */
  readonly next?: string;
  /** The entries of `status.problems` about it. */
  readonly problems: readonly Problem[];
}

/** Returns a finding that `status.problems` reports as one problem, with the same text. */
export function newFinding(kind: FindingKind, problem: Problem): PreflightFinding {
  const { message, next } = problem;
  return { kind, message, ...(next === undefined ? {} : { next }), problems: [problem] };
}

/** The separators between the message of a finding and what to do about it; default: "; ". */
const SEPARATORS: Readonly<Partial<Record<FindingKind, string>>> = {
  kindNotServed: ": ",
  namespace: ": ",
};

/** Formats a finding as one text: its message, then what to do about it. */
export function formatPreflightFinding({ kind, message, next }: PreflightFinding): string {
  return next === undefined ? message : `${message}${SEPARATORS[kind] ?? "; "}${next}`;
}

/** The release to check, with its extension and the identity that applies it. */
export interface PreflightRequest {
  /** Prepared objects. */
  desired: readonly KubeObject[];
  kinds: ServedKinds;
  /** The last deployed release. Its objects count as objects of the extension even without owner marks. */
  base: ReleaseRecord | undefined;
  owner: Owner;
  extensionExists: ExtensionExists;
  extension: Readonly<ClusterExtension>;
  /**
   * Decides which objects of other extensions the release may take over. The controller knows the target of every extension. A plan is computed
   * outside the controller, does not know the targets, and counts such objects as denied.
   */
  handovers: Pick<Handovers, "excludes">;
  /**
   * Reports whether this extension adopts an object of another owner before the release is applied. Only a conversion from OLM v0 does that;
   * default: false. The dry run of such an object keeps the order of its live lists, like the apply after a conversion.
   */
  willBeAdopted?: ((live: KubeObject) => boolean) | undefined;
  /** Reads objects, with the identity of `client`. */
  applier: Applier;
  dryRun: DryRun;
  /** The identity that applies. */
  client: Pick<Client, "get" | "list" | "listPage" | "patch" | "raw">;
  /** The controller's own identity, for discovery. */
  discovery: Pick<Client, "resourceFor">;
  /** Looks up the missing permissions of `client`; absent for an identity other than the one of the extension, such as an administrator. */
  permissions?: (() => Promise<MissingPermissions | undefined>) | undefined;
  /** How to get a permission that only a check finds to be missing. */
  advice: string;
  /** The objects that the release removes. */
  pruning: PruneRequest;
  /** Checks custom resources before their CRD is upgraded; default: a new checker. */
  objects?: ObjectChecker | undefined;
  /** Writes nothing: the removal of versions from status.storedVersions of a CRD, which precedes the dry run, is a dry run too. */
  onlyTries?: boolean;
  signal: AbortSignal;
}

/** The results of the checks so far: each check adds to them, and later checks build on them. */
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
  /** Keys of objects with a finding: later checks skip them, and their result is unknown. */
  readonly refused: Set<string>;
  /** Keys of objects that a dry run would deny only because a preceding change was itself a dry run. */
  readonly untried: Set<string>;
  /** Missing permissions that `spec.install.permissions: Warn` tolerates. */
  tolerated?: MissingPermissions | undefined;
  /** Permissions that may be missing: the checks that follow decide. */
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
