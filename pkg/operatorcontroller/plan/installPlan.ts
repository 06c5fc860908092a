import type { ProblemData } from "../../api/problemSchema.ts";
import type { PlannedAction } from "../../release/changePlan.ts";
import type { FieldChange } from "../../release/diff.ts";

/** A reason why operator-controller would deny the release, or why that cannot be determined. */
export interface PlanFinding {
  /**
   * As `FindingKind` of the preflight, where `ownership` includes `kindConflict`; and `requirements`: the cluster does not meet the requirements
   * of the bundle.
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

/** The change of one object. */
export interface InstallPlanObject {
  readonly action: PlannedAction;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** The object's rules grant more permissions than now. */
  readonly widens: boolean;
  /** It has a finding, and the changes of its fields are unknown. */
  readonly refused: boolean;
  /** Changed fields of an update, at most 50; values are JSON of at most 200 characters, and masked for Secrets. */
  readonly changes: readonly FieldChange[];
  /** Number of changed fields that `changes` omits. */
  readonly more: number;
}

/** A warning of the API server, or of an admission webhook or policy, about objects that it accepts. */
export interface InstallPlanWarning {
  /** One printable line of at most 500 characters. */
  readonly text: string;
  /** Such as "Deployment ns/name". */
  readonly objects: readonly string[];
}

/** The changes that operator-controller would make for a ClusterExtension: the JSON output of `olmv1 plan`. A format version only gains members. */
export interface InstallPlan {
  readonly formatVersion: 1;
  readonly extension: string;
  /** Whether a ClusterExtension of that name exists. */
  readonly exists: boolean;
  readonly installed: { readonly bundle: string; readonly version: string; readonly revision: number } | null;
  readonly bundle: { readonly name: string; readonly version: string; readonly image: string; readonly catalog: string | null };
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
  /** The digest in status.plan; null for an extension that does not exist yet, because the digest depends on its uid. */
  readonly digest: string | null;
  /** `needed`: the plan requires an approval; `given`: it is approved. */
  readonly approval: { readonly needed: boolean; readonly given: boolean };
}
