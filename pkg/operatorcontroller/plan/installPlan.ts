import type { ProblemData } from "../../api/problemSchema.ts";
import type { VersionSupport } from "../../fbc/versionSupport.ts";
import type { PlannedAction } from "../../release/changePlan.ts";
import type { FieldChange } from "../../release/diff.ts";

/** A reason why operator-controller would deny the release, or why this cannot be determined. */
export interface PlanFinding {
  /**
   * The preflight's `FindingKind`, except that `ownership` includes `kindConflict`; or `requirements`: the cluster does not meet the requirements of
   * the bundle; or `dependencies`: its dependencies are missing and cannot be installed.
   */
  readonly kind:
    | "namespace"
    | "kindNotServed"
    | "read"
    | "ownership"
    | "crdUpgrade"
    | "conversion"
    | "requirements"
    | "veto"
    | "dependencies"
    | "permissions"
    | "dryRun"
    | "quota";
  readonly text: string;
  /** For kind `permissions`: the missing rules. */
  readonly permissions?: NonNullable<ProblemData["permissions"]>;
  /** For kind `permissions`: the command that grants them. */
  readonly grant?: string;
  /** For kind `namespace`: the namespace that does not exist. */
  readonly namespace?: string;
}

/** The change of one object. */
export interface InstallPlanObject {
  readonly action: PlannedAction;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Whether the object's rules grant more permissions than now. */
  readonly widens: boolean;
  /** Whether the object has a finding. If so, the changes of its fields are unknown. */
  readonly refused: boolean;
  /** Fields changed by an update, at most 50. Values are JSON of at most 200 characters, and masked for Secrets. */
  readonly changes: readonly FieldChange[];
  /** Number of changed fields that `changes` omits. */
  readonly more: number;
}

/** A warning from the API server, an admission webhook or an admission policy about accepted objects. */
export interface InstallPlanWarning {
  /** One printable line of at most 500 characters. */
  readonly text: string;
  /** Descriptions of the objects, such as "Deployment ns/name". */
  readonly objects: readonly string[];
}

/** A bundle of a plan with dependencies. */
export interface InstallPlanMember {
  /** The ClusterExtension that installs the bundle. */
  readonly extension: string;
  /** Whether the plan creates the ClusterExtension. */
  readonly created: boolean;
  readonly packageName: string;
  readonly bundle: { readonly name: string; readonly version: string };
  readonly catalog: string;
  /** The bundles of a wave are installed together, after those of earlier waves. From 1. */
  readonly wave: number;
  /** The requirement that the bundle meets; null if there is none. */
  readonly reason: string | null;
  /** Whether the bundle is already installed. */
  readonly installed: boolean;
}

/** The plan to install a bundle together with the dependencies that are missing. */
export interface InstallPlanDependencies {
  /** The ClusterExtension that makes the plan. */
  readonly root: string;
  /** Whether `status.dependencyPlan` of this ClusterExtension already contains the plan. */
  readonly stored: boolean;
  /** Identifies the plan; null for catalogs that are not those of the cluster, because it depends on their names. */
  readonly digest: string | null;
  /** All bundles, by wave and name of the ClusterExtension. */
  readonly members: readonly InstallPlanMember[];
  /** Why the plan was rolled back, and the time of the next attempt; null if it was not. */
  readonly failure: { readonly message: string; readonly attempts: number; readonly retryAt: string } | null;
  /** Kinds of objects in the bundle that the cluster serves only after another bundle of the plan is installed. The plan does not try these objects. */
  readonly awaitedKinds: readonly { readonly apiVersion: string; readonly kind: string; readonly bundle: string }[];
}

/**
 * The changes that operator-controller would make for a ClusterExtension: the JSON output of `olmv1 plan`. Within a format version, members are only
 * added.
 */
export interface InstallPlan {
  readonly formatVersion: 1;
  readonly extension: string;
  /** Whether a ClusterExtension with this name exists. */
  readonly exists: boolean;
  readonly installed: { readonly bundle: string; readonly version: string; readonly revision: number } | null;
  readonly bundle: {
    readonly name: string;
    readonly version: string;
    readonly image: string;
    readonly catalog: string | null;
    /** Absent if the catalog has no support phases of the package. */
    readonly support?: VersionSupport;
  };
  /** The reason for the choice of the bundle, one sentence. */
  readonly explanation: string;
  /** The selected catalogs that are unavailable, with the reason. */
  readonly unavailableCatalogs: readonly { readonly catalog: string; readonly because: string }[];
  readonly counts: Readonly<Record<"create" | "update" | "delete" | "unchanged", number>>;
  /** Changed objects first, in the order in which they would be written. */
  readonly objects: readonly InstallPlanObject[];
  readonly findings: readonly PlanFinding[];
  readonly warnings: readonly InstallPlanWarning[];
  readonly notes: readonly string[];
  /** Absent if no dependencies are installed with the bundle. */
  readonly dependencies?: InstallPlanDependencies;
  /**
   * The digest in status.plan: that of `dependencies` if the extension makes this plan, because one approval covers all bundles. Null if it is not known
   * yet, such as for an extension that does not exist, because the digest depends on its uid.
   */
  readonly digest: string | null;
  /** `needed`: the plan requires approval; `given`: the plan is approved. */
  readonly approval: { readonly needed: boolean; readonly given: boolean };
}
