import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Problem } from "../../api/problems.ts";
import type { Client } from "../../kube/client.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { ObjectChecker } from "../crds/existingObjects.ts";
import type { LackingPermissions } from "../permissions/permissions.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { Applier } from "./applier.ts";
import type { DryRun } from "./dryRun.ts";
import type { Handovers, Need } from "./handovers.ts";
import type { ServedKinds } from "./preparedObjects.ts";
import type { PruneRequest } from "./prune.ts";

/**
 * The kinds of findings.
 * kindNotServed: the cluster does not serve kinds; permissions: the ServiceAccount lacks permissions; read: an object cannot be read;
 * ownership: an object belongs to another owner; kindConflict: another CustomResourceDefinition defines a kind already;
 * crdUpgrade: CustomResourceDefinitions cannot replace the existing ones; namespace: a namespace does not exist;
 * dryRun: the API server denies an object; quota: a ResourceQuota has no room for all objects together;
 * conversion: custom resources of a definition that stays need a conversion webhook that goes.
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

/** What a preflight found out about a release: why the controller does not apply it. */
export interface PreflightFinding {
  readonly kind: FindingKind;
  /** What is wrong. The message with which the controller refuses contains it. */
  readonly message: string;
  /** What to do about it, where that is known. */
  readonly next?: string;
  /** What `status.problems` reports about it. */
  readonly problems: readonly Problem[];
}

/** Returns a finding that `status.problems` reports as one problem, in the same words. */
export function newFinding(kind: FindingKind, problem: Problem): PreflightFinding {
  const { message, next } = problem;
  return { kind, message, ...(next === undefined ? {} : { next }), problems: [problem] };
}

/** Separates what is wrong from what to do about it. */
const SEPARATORS: Readonly<Partial<Record<FindingKind, string>>> = {
  kindNotServed: ": ",
  namespace: ": ",
};

/** Writes a finding as one text: what is wrong, then what to do about it. */
export function findingText({ kind, message, next }: PreflightFinding): string {
  return next === undefined ? message : `${message}${SEPARATORS[kind] ?? "; "}${next}`;
}

/** What is to be applied, for whom and with whose identity. */
export interface PreflightRequest {
  /** Prepared objects. */
  desired: readonly KubeObject[];
  kinds: ServedKinds;
  /** The last deployed release: what it contains needs no proof that it belongs to the extension. */
  base: ReleaseRecord | undefined;
  owner: Owner;
  extensionExists: ExtensionExists;
  extension: Readonly<ClusterExtension>;
  /**
   * Which objects of other extensions the release may take. The controller knows what every extension aims at; a plan is made outside of it, knows none of
   * that, and counts such objects as denied.
   */
  handovers: Pick<Handovers, "excludes">;
  /**
   * Whether an object that another owner has now will have been given to this extension before the release is applied. Only a conversion from OLM v0 gives
   * objects; default: none is given. Such an object is tried in the order that its live lists have, which the apply after a conversion keeps too.
   */
  willBeGiven?: ((live: KubeObject) => boolean) | undefined;
  /** Reads objects, with the identity of `client`. */
  applier: Applier;
  dryRun: DryRun;
  /** The identity that applies. */
  client: Pick<Client, "get" | "list" | "listPage" | "patch" | "raw">;
  /** The controller's own identity, for discovery. */
  discovery: Pick<Client, "resourceFor">;
  /** Looks up which permissions `client` lacks; not given for an identity that is not the one of the extension, as an administrator's. */
  permissions?: (() => Promise<LackingPermissions | undefined>) | undefined;
  /** How to get a permission that turns out to be needed only now. */
  advice: string;
  /** What the release removes. */
  pruning: PruneRequest;
  /** Checks custom resources before their CRD is upgraded; default: one of its own. */
  objects?: ObjectChecker | undefined;
  /** Writes nothing at all: versions that the controller takes from a CRD's status.storedVersions before the dry run are only tried. */
  onlyTries?: boolean;
  signal: AbortSignal;
}

/** What the checks have found out so far; each check adds to it, and later checks build on it. */
export interface Checked {
  /** The objects as they are on the cluster, by `objectKey`. */
  live: LiveObjects;
  /** The objects as they would be. */
  after: LiveObjects;
  /** What is taken from other extensions. */
  needs: Need[];
  /** What to know about CRD upgrades. */
  notes: string[];
  findings: PreflightFinding[];
  /** Keys of objects that a finding is about: later checks leave them out, and how they would be is not known. */
  readonly refused: Set<string>;
  /** Keys of objects that a dry run would deny only because something that precedes them was only tried. */
  readonly untried: Set<string>;
  /** Permissions that are missing, which `spec.install.permissions: Warn` permits. */
  tolerated?: LackingPermissions | undefined;
  /** Permissions that may be missing: the checks that follow decide. */
  doubtful?: LackingPermissions | undefined;
}

/** Why a check refuses the release. */
export interface Refusal {
  readonly findings: readonly PreflightFinding[];
  /** What the controller throws for all of them. */
  readonly error: unknown;
}

/** One check of a preflight. */
export interface Check {
  /** The kind of its first finding. */
  readonly name: FindingKind;
  /** @throws Error if it cannot check. */
  run(request: PreflightRequest, checked: Checked): Promise<Refusal | undefined>;
}
