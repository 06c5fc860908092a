import { refOf } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { messageOf, problemsIn, ReconcileError } from "../../errors/errors.ts";
import { objectKey } from "../../release/identity.ts";
import { type CrdRefusal, checkCrdUpgrades, type UpgradeRefusal } from "../crds/crdUpgrades.ts";
import { conversionRefusal, upgradeConversions } from "../crds/lostConversions.ts";
import type { LackingPermissions } from "../permissions/permissions.ts";
import { DeniedError, waitingIn } from "../state/waiting.ts";
import { failureParts, failureProblems, RequestsFailed } from "./applier.ts";
import { dryRunCheck } from "./dryRunCheck.ts";
import { kindsCheck } from "./kindsCheck.ts";
import { ownershipCheck } from "./ownershipCheck.ts";
import { permissionsError, withLacking } from "./permissionCheck.ts";
import { type Check, type Checked, newFinding, type PreflightFinding, type PreflightRequest, type Refusal } from "./preflightRequest.ts";
import { leavingCrds } from "./prune.ts";
import { quotaCheck } from "./quotaCheck.ts";

/** Refuses a release for missing permissions, unless the extension permits that or only a try can tell. */
const permissionsCheck: Check = {
  name: "permissions",
  async run({ permissions, extension }, checked) {
    const lacking = await permissions?.();
    if (!lacking) return undefined;
    if (extension.spec.install?.permissions === "Warn") checked.tolerated = lacking;
    else if (lacking.doubtful) checked.doubtful = lacking;
    else return { findings: [permissionsFinding(lacking)], error: permissionsError(lacking) };
    return undefined;
  },
};

function permissionsFinding({ text, problem }: LackingPermissions): PreflightFinding {
  return { ...newFinding("permissions", problem), message: text };
}

/** Reads the objects as they are. */
const readCheck: Check = {
  name: "read",
  async run({ applier, desired, kinds }, checked) {
    const doing = "could not get object: ";
    const served = desired.filter((object) => kinds.resourceOf(object) !== undefined);
    const { objects, failures } = await applier.readEach(served.map(refOf));
    checked.live = objects;
    for (const { item } of failures) checked.refused.add(objectKey(item));
    if (failures.length === 0) return undefined;
    const findings = failures.map((failure): PreflightFinding => {
      const { message, ...next } = failureParts(failure);
      return { kind: "read", message: `${doing}${message}`, ...next, problems: failureProblems(failure) };
    });
    return { findings, error: new RequestsFailed(doing, failures) };
  },
};

/** Refuses CRDs that cannot replace those that exist. What cannot be checked refuses as well. */
const crdUpgradesCheck: Check = {
  name: "crdUpgrade",
  async run({ client, desired, extension, advice, objects, onlyTries = false, signal }, checked) {
    const upgrade = { desired, live: checked.live, spec: extension.spec, advice, objects, onlyTries };
    try {
      const { notes, tried, refusal } = await checkCrdUpgrades(client, upgrade, signal);
      checked.notes.push(...notes);
      for (const crd of tried) checked.untried.add(objectKey(crd));
      if (!refusal) return undefined;
      return { findings: [crdUpgradeFinding(refusal)], error: refusal.error };
    } catch (err) {
      signal.throwIfAborted();
      return { findings: [newFinding("crdUpgrade", newProblem("CRDUpgradeUnsafe", { message: messageOf(err) }))], error: err };
    }
  },
};

function crdUpgradeFinding({ message, more, next, crds }: UpgradeRefusal): PreflightFinding {
  const details = crds.flatMap(crdDetails);
  const finding = newFinding("crdUpgrade", newProblem("CRDUpgradeUnsafe", { message: [message, ...more].join("; "), next, details }));
  return { ...finding, message, ...(more.length > 0 ? { next: more.join("; ") } : {}) };
}

function crdDetails({ name, findings, refusals }: CrdRefusal): { name: string; check?: string; message: string }[] {
  return [...findings.map(({ check, text }) => ({ name, check, message: text })), ...refusals.map((text) => ({ name, message: text }))];
}

/** Refuses a release that takes away the conversion webhook of custom resources that stay. */
const conversionsCheck: Check = {
  name: "conversion",
  async run({ client, extension, applier, pruning, signal }, checked) {
    try {
      const lost = upgradeConversions(extension, await leavingCrds(applier, pruning));
      const refusal = await conversionRefusal(client, lost, signal);
      if (!refusal) return undefined;
      return { findings: [newFinding("conversion", refusal.problem)], error: refusal.error };
    } catch (err) {
      signal.throwIfAborted();
      if (checked.findings.some(({ kind }) => kind === "read")) return undefined; // which has said why
      return { findings: [{ kind: "read", message: messageOf(err), problems: problemsIn(err) }], error: err };
    }
  },
};

/** Runs before the controller compares a release with the deployed one. */
export const KIND_CHECKS: readonly Check[] = [kindsCheck];
/** Runs before the controller claims the objects, so that no other extension writes them. */
export const PERMISSION_CHECKS: readonly Check[] = [permissionsCheck];
/** Runs while the objects are claimed. */
export const OBJECT_CHECKS: readonly Check[] = [readCheck, ownershipCheck, crdUpgradesCheck, dryRunCheck, quotaCheck, conversionsCheck];
/** Everything that can refuse a release before anything is written, in the order in which the controller asks. */
const ALL_CHECKS: readonly Check[] = [...KIND_CHECKS, ...PERMISSION_CHECKS, ...OBJECT_CHECKS];

/** How a preflight runs. */
export interface PreflightOptions {
  /** stop: throws for the first check that refuses; collect: goes on, and leaves out objects that are refused already. */
  readonly mode: "stop" | "collect";
  /** Default: all of them. */
  readonly checks?: readonly Check[];
  /** What earlier checks of the same release have found out. */
  readonly checked?: Checked;
}

/** What is known before the first check. */
export function newChecked(): Checked {
  return { live: new Map(), after: new Map(), needs: [], notes: [], findings: [], refused: new Set(), untried: new Set() };
}

/**
 * Asks everything that can refuse a release before anything is written. The controller stops at the first refusal; `olmv1 plan` collects all of
 * them. Both run the same checks in the same order, so the first finding of a plan is what the controller refuses with.
 * @returns the objects as they are and as they would be, all findings, and what to know; the findings are in `options.checked` also if it throws.
 * @throws RetryableError in mode "stop", with every refusal of one check; a WaitingError if someone has to make room or to allow it.
 */
export async function preflight(request: PreflightRequest, options: PreflightOptions): Promise<Checked> {
  const { mode, checks = ALL_CHECKS, checked = newChecked() } = options;
  for (const check of checks) {
    // The dry run has tried everything by then: the conversions say nothing about permissions.
    const explained = (refused: Refusal): Refusal => (check === conversionsCheck ? refused : withDoubt(refused, checked));
    const refusal = await check.run(request, checked).catch((err: unknown) => {
      throw mode === "stop" ? explained({ findings: [], error: err }).error : err;
    });
    if (!refusal) continue;
    const { findings, error } = explained(refusal);
    checked.findings.push(...findings);
    if (mode === "stop") throw reporting(error, findings);
  }
  return checked;
}

/** Lets the error report its findings as problems, unless it reports problems of its own. */
function reporting(error: unknown, findings: readonly PreflightFinding[]): unknown {
  if (error instanceof ReconcileError && error.problems.length === 0) error.problems = findings.flatMap(({ problems }) => problems);
  return error;
}

/** Reports permissions that may be missing first, with the refusal that they may have caused. */
function withDoubt({ findings, error }: Refusal, checked: Checked): Refusal {
  const { doubtful } = checked;
  if (!doubtful || !(error instanceof DeniedError || !waitingIn(error))) return { findings, error };
  checked.doubtful = undefined;
  return { findings: [permissionsFinding(doubtful), ...findings], error: withLacking(error, doubtful) };
}
