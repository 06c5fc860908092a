import type { CrdFinding } from "../../crdsafety/crdFindings.ts";
import type { RetryableError } from "../../errors/errors.ts";

/** The reasons why a CRD cannot replace the existing one. */
export interface CrdRefusal {
  /** Name of the CRD. */
  readonly name: string;
  readonly findings: readonly CrdFinding[];
  /** Further reasons. */
  readonly refusals: readonly string[];
}

/** The reasons why CRD upgrades are denied. */
export interface UpgradeRefusal {
  readonly crds: readonly CrdRefusal[];
  /** The text of the condition: the findings of the Go implementation if there are any. */
  readonly message: string;
  /** Findings that the Go implementation does not have: about existing custom resources, and about failed checks. */
  readonly more: readonly string[];
  /** Suggested fix, if known. */
  readonly next?: string;
  /** Type of the problem. Default: CRDUpgradeUnsafe. */
  readonly type?: "StorageMigrationRunning";
  /** The error with `message`. */
  readonly error: RetryableError;
}
