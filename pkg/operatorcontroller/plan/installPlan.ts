import type { ProblemData } from "../../api/problemSchema.ts";
import type { PlannedAction } from "../../release/changePlan.ts";
import type { FieldChange } from "../../release/diff.ts";

/** Why operator-controller would refuse, or why that cannot be told. */
export interface PlanFinding {
  /**
   * namespace: spec.namespace does not exist; kindNotServed: the cluster does not know a kind; read: an object may not be read;
   * ownership: an object is somebody else's; crdUpgrade: a CustomResourceDefinition may not replace the one that exists;
   * conversion: custom resources of a definition that stays need the conversion webhook that would go;
   * requirements: the cluster lacks what the bundle requires; permissions: the ServiceAccount lacks rights; dryRun: the API server refuses an object; quota: a ResourceQuota has no room for all of them.
   */
  readonly kind:
    | "namespace"
    | "kindNotServed"
    | "read"
    | "ownership"
    | "crdUpgrade"
    | "conversion"
    | "requirements"
    | "permissions"
    | "dryRun"
    | "quota";
  readonly text: string;
  /** Of kind permissions: the missing rules. */
  readonly permissions?: NonNullable<ProblemData["permissions"]>;
  /** Of kind permissions: the command that grants them. */
  readonly grant?: string;
}

/** What would happen to one object. */
export interface InstallPlanObject {
  readonly action: PlannedAction;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** The object's rules give rights that they do not give now. */
  readonly widens: boolean;
  /** A finding is about it, and how its fields would change is not known. */
  readonly refused: boolean;
  /** Fields of an update, at most 50; values are JSON cut at 200 characters, those of Secrets are masked. */
  readonly changes: readonly FieldChange[];
  /** Fields that are left out of `changes`. */
  readonly more: number;
}

/** Something that stands against nothing, in the words of the cluster: one printable line of at most 500 characters. */
export interface InstallPlanWarning {
  readonly text: string;
  /** Such as "Deployment ns/name". */
  readonly objects: readonly string[];
}

/** What applying a ClusterExtension would do: the JSON answer of `olmv1 plan`. Members are added, never changed, within a format version. */
export interface InstallPlan {
  readonly formatVersion: 1;
  readonly extension: string;
  /** Whether there is a ClusterExtension of that name already. */
  readonly exists: boolean;
  readonly installed: { readonly bundle: string; readonly version: string; readonly revision: number } | null;
  readonly bundle: { readonly name: string; readonly version: string; readonly image: string; readonly catalog: string | null };
  /** Why this bundle, one sentence. */
  readonly explanation: string;
  /** The selected catalogs that could not be asked and are left out, and why. */
  readonly unavailableCatalogs: readonly { readonly catalog: string; readonly because: string }[];
  readonly counts: Readonly<Record<"create" | "update" | "delete" | "unchanged", number>>;
  /** Those that change first, in the order in which they would. */
  readonly objects: readonly InstallPlanObject[];
  readonly findings: readonly PlanFinding[];
  /** What the API server, or an admission webhook or policy, says about objects without refusing them. */
  readonly warnings: readonly InstallPlanWarning[];
  readonly notes: readonly string[];
  /** As in status.plan; null for an extension that does not exist yet, since its uid is part of the digest. */
  readonly digest: string | null;
  /** `needed`: somebody has to approve this before it is done; `given`: somebody has. */
  readonly approval: { readonly needed: boolean; readonly given: boolean };
}
