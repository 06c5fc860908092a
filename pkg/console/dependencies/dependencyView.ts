import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findProblem } from "../../api/problems.ts";
import type { Blocker, DependencyMap, PlanProgressView, RequirementRow } from "../../consoleapi/dependencies.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import type { InstalledRequirement } from "../../resolve/dependencies/requirementMap.ts";
import { countPlanProgress, formatPlanFailure, listPlanProgress, type PlanMemberProgress } from "../../rollout/planProgress.ts";
import { parseSuggestedStep } from "../../rollout/suggestedStep.ts";
import { compareText } from "../../text/compare.ts";
import { CAUSE_LENGTH, NAME_LENGTH, truncate } from "../../text/truncate.ts";
import { drawDependencies } from "./dependencyGraph.ts";

const MAX_REQUIREMENTS = 2_000;
const MAX_UNMET = 20;
const MAX_LISTED = 100;
const MAX_UNKNOWN = 50;

/** What is known about the dependencies on a cluster. */
export interface DependencySources {
  readonly extensions: readonly ClusterExtension[];
  readonly requirements: readonly InstalledRequirement[];
  /** Whether the APIs that the cluster serves are known. */
  readonly isServedKnown: boolean;
  /** What could not be read, one sentence each. */
  readonly unknown: readonly string[];
}

/** Describes who needs whom: requirements that are not met first, plans in progress, and what delays an uninstall. */
export function buildDependencies({ extensions, requirements, isServedKnown, unknown }: DependencySources): DependencyMap {
  const all = [...extensions.flatMap(listMissing), ...requirements.map((one) => toRequirement(one, isServedKnown))]
    .sort(compareRequirements)
    .slice(0, MAX_REQUIREMENTS);
  const plans = extensions.flatMap((extension) => toPlan(extension, extensions));
  const linked = new Set([
    ...all.flatMap(({ extension, providers }) => [extension, ...providers]),
    ...plans.flatMap(({ extension, members }) => [extension, ...members.map((member) => member.extension)]),
  ]);
  return {
    requirements: all,
    plans,
    blockers: listBlockers(extensions, requirements),
    graph: drawDependencies({ extensions, requirements: all, plans }),
    independent: extensions.filter(({ metadata }) => !linked.has(metadata.name)).length,
    unknown: unknown.slice(0, MAX_UNKNOWN),
  };
}

/** Returns what the bundles that an extension cannot install require, from its status. */
function listMissing({ metadata, status }: ClusterExtension): RequirementRow[] {
  const problem = findProblem(status, "UnsatisfiedDependencies");
  if (!problem) return [];
  const details = problem.details?.dependencies ?? [];
  const listed = details.length > 0 ? details : [{ bundle: undefined, message: problem.message }];
  return [...Map.groupBy(listed, ({ bundle }) => bundle)].map(([bundle, reasons]) => ({
    extension: metadata.name,
    bundle: bundle === undefined ? undefined : truncate(bundle, NAME_LENGTH),
    text: bundle === undefined ? "A bundle cannot be installed" : `Bundle ${truncate(bundle, NAME_LENGTH)} cannot be installed`,
    state: { text: "Not met", mood: "bad" },
    unmet: reasons.slice(0, MAX_UNMET).map(({ message }) => truncate(message, CAUSE_LENGTH)),
    providers: [],
    needed: [],
  }));
}

function toRequirement(one: InstalledRequirement, isServedKnown: boolean): RequirementRow {
  const { extension, bundle, text, unmet, providers, needed } = one;
  return {
    extension,
    bundle: truncate(bundle, NAME_LENGTH),
    text: truncate(text, CAUSE_LENGTH),
    state: describeState(one, isServedKnown),
    unmet: unmet.slice(0, MAX_UNMET).map((reason) => truncate(reason, CAUSE_LENGTH)),
    providers: providers.slice(0, MAX_LISTED),
    needed: needed.slice(0, MAX_LISTED),
  };
}

function describeState({ isMet, isServed, providers }: InstalledRequirement, isServedKnown: boolean): MoodText {
  if (!isMet && !isServedKnown) return { text: "Unknown", mood: "faint" };
  if (!isMet) return { text: "Not met", mood: "bad" };
  if (providers.length === 0 && isServed) return { text: "Served by the cluster", mood: "good" };
  return { text: "Met", mood: "good" };
}

function compareRequirements(a: RequirementRow, b: RequirementRow): number {
  return Number(a.state.mood !== "bad") - Number(b.state.mood !== "bad") || compareText(a.extension, b.extension);
}

const MEMBER_STATES: Readonly<Record<PlanMemberProgress["state"], MoodText>> = {
  installed: { text: "Installed", mood: "good" },
  waiting: { text: "Waiting", mood: "faint" },
  blocked: { text: "Not installed", mood: "warning" },
  notCreated: { text: "Not created yet", mood: "faint" },
};

function toPlan(root: ClusterExtension, extensions: readonly ClusterExtension[]): PlanProgressView[] {
  const count = countPlanProgress(root, extensions);
  if (!count) return [];
  const reasons = new Map((root.status?.dependencyPlan?.members ?? []).map(({ extension, reason }) => [extension, reason]));
  const members = listPlanProgress(root, extensions).slice(0, MAX_LISTED);
  return [
    {
      extension: root.metadata.name,
      ...count,
      failure: formatPlanFailure(root),
      members: members.map(({ wave, extension, bundle, catalog, state, why }) => {
        const reason = reasons.get(extension);
        return { wave, extension, bundle: bundle.name, version: bundle.version, catalog, state: MEMBER_STATES[state], why, reason };
      }),
    },
  ];
}

/** Returns the extensions that others need, those whose uninstall waits first. */
function listBlockers(extensions: readonly ClusterExtension[], requirements: readonly InstalledRequirement[]): Blocker[] {
  const blockers = extensions.flatMap((extension): Blocker[] => {
    const { name, deletionTimestamp } = extension.metadata;
    const needing = requirements.filter(({ needed }) => needed.includes(name));
    if (needing.length === 0) return [];
    const next = findProblem(extension.status, "RequiredByOthers")?.next;
    const dependents = [...Map.groupBy(needing, (one) => one.extension)].map(([dependent, list]) => ({
      extension: dependent,
      needs: list.slice(0, MAX_LISTED).map(({ text }) => truncate(text, CAUSE_LENGTH)),
    }));
    return [
      {
        extension: name,
        isWaiting: deletionTimestamp !== undefined,
        dependents: dependents.slice(0, MAX_LISTED),
        next: next === undefined ? undefined : parseSuggestedStep(next),
      },
    ];
  });
  return blockers.sort((a, b) => Number(b.isWaiting) - Number(a.isWaiting) || compareText(a.extension, b.extension));
}
