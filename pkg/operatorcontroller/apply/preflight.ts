import { toObjectRef } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { getErrorMessage, getProblems, ReconcileError } from "../../errors/errors.ts";
import { getObjectKey } from "../../release/identity.ts";
import type { CrdRefusal, UpgradeRefusal } from "../crds/crdRefusal.ts";
import { checkCrdUpgrades } from "../crds/crdUpgrades.ts";
import { checkConversions, newConversionRequest } from "../crds/lostConversions.ts";
import type { MissingPermissions } from "../permissions/permissions.ts";
import { DeniedError, findWaitingError } from "../state/conditionPoller.ts";
import { describeFailure, RequestsFailed, toFailureProblems } from "./applier.ts";
import { dryRunCheck } from "./dryRunCheck.ts";
import { kindsCheck } from "./kindsCheck.ts";
import { ownershipCheck } from "./ownershipCheck.ts";
import { newPermissionsError, withMissingPermissions } from "./permissionCheck.ts";
import {
  type Checked,
  newFinding,
  type PreflightCheck,
  type PreflightFinding,
  type PreflightRequest,
  type Refusal,
} from "./preflightRequest.ts";
import { listLeavingCrds } from "./prune.ts";
import { quotaCheck } from "./quotaCheck.ts";

/** Denies a release if permissions are missing, unless the extension tolerates missing permissions or only a dry run can decide. */
const permissionsCheck: PreflightCheck = {
  name: "permissions",
  async run({ permissions, extension }, checked) {
    const lacking = await permissions?.();
    if (!lacking) return undefined;
    if (extension.spec.install?.permissions === "Warn") checked.tolerated = lacking;
    else if (lacking.uncertain) checked.uncertain = lacking;
    else return { findings: [newPermissionsFinding(lacking)], error: newPermissionsError(lacking) };
    return undefined;
  },
};

function newPermissionsFinding({ text, problem }: MissingPermissions): PreflightFinding {
  return { ...newFinding("permissions", problem), message: text };
}

/** Reads the live objects. */
const readCheck: PreflightCheck = {
  name: "read",
  async run({ applier, desired, kinds }, checked) {
    const doing = "could not get object: ";
    const served = desired.filter((object) => kinds.resourceOf(object) !== undefined);
    const { objects, failures } = await applier.readEach(served.map(toObjectRef));
    checked.live = objects;
    for (const { item } of failures) checked.refused.add(getObjectKey(item));
    if (failures.length === 0) return undefined;
    const findings = failures.map((failure): PreflightFinding => {
      const { message, ...next } = describeFailure(failure);
      return { kind: "read", message: `${doing}${message}`, ...next, problems: toFailureProblems(failure) };
    });
    return { findings, error: new RequestsFailed(doing, failures) };
  },
};

/** Denies CRDs that cannot replace the existing ones, and CRDs that cannot be checked. */
const crdUpgradesCheck: PreflightCheck = {
  name: "crdUpgrade",
  async run({ client, desired, extension, owner, advice, objects, migrator, onlyTries = false, signal }, checked) {
    const { live } = checked;
    const upgrade = { desired, live, spec: extension.spec, owner: owner.uid, advice, objects, migrator, onlyTries };
    try {
      const { notes, tried, refusal } = await checkCrdUpgrades(client, upgrade, signal);
      checked.notes.push(...notes);
      for (const crd of tried) checked.untried.add(getObjectKey(crd));
      if (!refusal) return undefined;
      return { findings: [newCrdUpgradeFinding(refusal)], error: refusal.error };
    } catch (err) {
      signal.throwIfAborted();
      return { findings: [newFinding("crdUpgrade", newProblem("CRDUpgradeUnsafe", { message: getErrorMessage(err) }))], error: err };
    }
  },
};

function newCrdUpgradeFinding({ message, more, next, crds, type }: UpgradeRefusal): PreflightFinding {
  const details = crds.flatMap(toCrdDetails);
  const finding = newFinding(
    "crdUpgrade",
    newProblem(type ?? "CRDUpgradeUnsafe", { message: [message, ...more].join("; "), next, details }),
  );
  return { ...finding, message, ...(more.length > 0 ? { next: more.join("; ") } : {}) };
}

function toCrdDetails({ name, findings, refusals }: CrdRefusal): { name: string; check?: string; message: string }[] {
  return [...findings.map(({ check, text }) => ({ name, check, message: text })), ...refusals.map((text) => ({ name, message: text }))];
}

/** Denies a release that removes the conversion webhook of custom resources that stay. */
const conversionsCheck: PreflightCheck = {
  name: "conversion",
  async run({ client, extension, applier, pruning, signal }, checked) {
    try {
      const lost = newConversionRequest(extension, await listLeavingCrds(applier, pruning));
      const refusal = await checkConversions(client, lost, signal);
      if (!refusal) return undefined;
      return { findings: [newFinding("conversion", refusal.problem)], error: refusal.error };
    } catch (err) {
      signal.throwIfAborted();
      if (checked.findings.some(({ kind }) => kind === "read")) return undefined; // the finding about the read contains the reason
      return { findings: [{ kind: "read", message: getErrorMessage(err), problems: getProblems(err) }], error: err };
    }
  },
};

/** Runs before the controller compares a release with the deployed one. */
export const KIND_CHECKS: readonly PreflightCheck[] = [kindsCheck];
/** Runs before the controller locks the objects against writes of other extensions. */
export const PERMISSION_CHECKS: readonly PreflightCheck[] = [permissionsCheck];
/** Runs while the objects are locked. */
export const OBJECT_CHECKS: readonly PreflightCheck[] = [
  readCheck,
  ownershipCheck,
  crdUpgradesCheck,
  dryRunCheck,
  quotaCheck,
  conversionsCheck,
];
/** All checks that can deny a release before the controller writes anything, in the order in which the controller runs them. */
const ALL_CHECKS: readonly PreflightCheck[] = [...KIND_CHECKS, ...PERMISSION_CHECKS, ...OBJECT_CHECKS];

/** The options of a preflight. */
export interface PreflightOptions {
  /** stop: throws at the first check that denies the release; collect: continues, and skips objects that are already denied. */
  readonly mode: "stop" | "collect";
  /** Default: all checks. */
  readonly checks?: readonly PreflightCheck[];
  /** The results of earlier checks of the same release. */
  readonly checked?: Checked;
}

/** Returns the empty results before the first check. */
export function newChecked(): Checked {
  return { live: new Map(), after: new Map(), needs: [], notes: [], findings: [], refused: new Set(), untried: new Set() };
}

/**
 * Runs all checks that can deny a release before the controller writes anything. The controller stops at the first denial; `olmv1 plan` collects
 * all of them. Both run the same checks in the same order, so the first finding of a plan is the reason of the controller.
 * @returns the objects before and after the release, all findings, and notes. If it throws, the findings are in `options.checked`.
 * @throws RetryableError in mode "stop", with all findings of one check; a WaitingError if a change on the cluster can resolve it.
 */
export async function preflight(request: PreflightRequest, options: PreflightOptions): Promise<Checked> {
  const { mode, checks = ALL_CHECKS, checked = newChecked() } = options;
  for (const check of checks) {
    // The conversions check runs after the dry run of all objects, and does not depend on permissions.
    const withPermissions = (refused: Refusal): Refusal =>
      check === conversionsCheck ? refused : addUncertainPermissions(refused, checked);
    const refusal = await check.run(request, checked).catch((err: unknown) => {
      throw mode === "stop" ? withPermissions({ findings: [], error: err }).error : err;
    });
    if (!refusal) continue;
    const { findings, error } = withPermissions(refusal);
    checked.findings.push(...findings);
    if (mode === "stop") throw addProblems(error, findings);
  }
  return checked;
}

/** Adds the problems of the findings to the error, unless it has its own problems. */
function addProblems(error: unknown, findings: readonly PreflightFinding[]): unknown {
  if (error instanceof ReconcileError && error.problems.length === 0) error.problems = findings.flatMap(({ problems }) => problems);
  return error;
}

/** If permissions may be missing, reports them in front of the denial that they may have caused. */
function addUncertainPermissions({ findings, error }: Refusal, checked: Checked): Refusal {
  const { uncertain } = checked;
  if (!uncertain || !(error instanceof DeniedError || !findWaitingError(error))) return { findings, error };
  checked.uncertain = undefined;
  return { findings: [newPermissionsFinding(uncertain), ...findings], error: withMissingPermissions(error, uncertain) };
}
