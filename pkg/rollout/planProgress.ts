import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import { truncate } from "../text/truncate.ts";

/** Maximum length of the reason why a bundle is not installed, in characters. */
const MAX_REASON = 300;

/**
 * The state of a bundle in a plan.
 * - `installed`: its extension has installed it.
 * - `waiting`: its extension exists, and waits for other bundles of the plan, or has not been reconciled.
 * - `blocked`: its extension reports another reason, such as permissions that wait for approval.
 * - `notCreated`: its extension does not exist.
 */
type PlanMemberState = "installed" | "waiting" | "blocked" | "notCreated";

/** The progress of one bundle of a plan. */
export interface PlanMemberProgress {
  readonly wave: number;
  /** The ClusterExtension that installs the bundle. */
  readonly extension: string;
  readonly bundle: { readonly name: string; readonly version: string };
  readonly catalog: string;
  readonly state: PlanMemberState;
  /** Why the bundle is not installed: the reason and message of condition Progressing; empty if that is not known. */
  readonly why: string;
}

/**
 * Returns the progress of the plan in the status of an extension, by wave, with the bundle of the extension itself; empty if no plan is in progress.
 * @param extensions the extensions of the cluster. Those of the plan that it omits count as not created.
 */
export function listPlanProgress(root: ClusterExtension, extensions: readonly ClusterExtension[]): PlanMemberProgress[] {
  const plan = root.status?.dependencyPlan;
  if (!plan) return [];
  const byName = new Map(extensions.map((extension) => [extension.metadata.name, extension]));
  const own = { extension: root.metadata.name, bundle: plan.bundle, catalog: plan.catalog, wave: plan.wave };
  const members = [...plan.members, own].map(({ extension, bundle, catalog, wave }): PlanMemberProgress => {
    const found = extension === root.metadata.name ? root : byName.get(extension);
    return { wave, extension, bundle, catalog, ...computeState(found, bundle.name) };
  });
  return members.sort((a, b) => a.wave - b.wave);
}

function computeState(extension: ClusterExtension | undefined, bundle: string): Pick<PlanMemberProgress, "state" | "why"> {
  if (!extension) return { state: "notCreated", why: "" };
  const { status } = extension;
  if (status?.install?.bundle.name === bundle) return { state: "installed", why: "" };
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing || progressing.reason === Reason.Succeeded) return { state: "waiting", why: "" };
  const [line = ""] = progressing.message.split("\n");
  const isWaiting = (status?.problems ?? []).some(({ type }) => type === "DependenciesInstalling");
  return { state: isWaiting ? "waiting" : "blocked", why: truncate(`${progressing.reason}: ${line}`, MAX_REASON) };
}

const STATES: Readonly<Record<PlanMemberState, string>> = {
  installed: "installed",
  waiting: "waiting",
  blocked: "not installed",
  notCreated: "not created yet",
};

/** Formats the state of a bundle, such as "not installed: AwaitingApproval: waiting for approval …". */
function formatMemberState({ state, why }: Pick<PlanMemberProgress, "state" | "why">): string {
  return why === "" ? STATES[state] : `${STATES[state]}: ${why}`;
}

/** Formats a bundle of a plan with its wave, extension and state. */
export function formatPlanMember(member: PlanMemberProgress): string {
  return `wave ${member.wave}: ${member.bundle.name} (ClusterExtension ${member.extension}): ${formatMemberState(member)}`;
}

/** Returns the names of the extensions whose plan in progress contains the extension `name` as a dependency. */
export function findPlanRoots(name: string, extensions: readonly ClusterExtension[]): string[] {
  const isRoot = ({ status }: ClusterExtension): boolean =>
    status?.dependencyPlan?.members.some(({ extension }) => extension === name) === true;
  return extensions.filter(isRoot).map(({ metadata }) => metadata.name);
}

/** Returns the numbers of installed and of all bundles in the plan of an extension; undefined if no plan is in progress. */
export function countPlanProgress(
  root: ClusterExtension,
  extensions: readonly ClusterExtension[],
): { readonly installed: number; readonly all: number } | undefined {
  const members = listPlanProgress(root, extensions);
  if (members.length === 0) return undefined;
  return { installed: members.filter(({ state }) => state === "installed").length, all: members.length };
}

/** Formats why the plan of an extension was rolled back, and when the controller retries; undefined if it was not. */
export function formatPlanFailure({ status }: Pick<ClusterExtension, "status">): string | undefined {
  const failure = status?.dependencyPlan?.failure;
  if (!failure) return undefined;
  return `rolled back (attempts: ${failure.attempts}): ${failure.message}; the controller retries after ${failure.retryAt}, or as soon as the spec or a bundle changes`;
}
