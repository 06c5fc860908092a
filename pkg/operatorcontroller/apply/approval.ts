import { type ClusterExtension, isApproved } from "../../api/clusterExtension.ts";
import type { Plan } from "../../api/clusterExtensionStatus.ts";
import { ANNOTATION_APPROVE, API_VERSION, CLUSTER_EXTENSION, PLAN_FIELDS_MAX, PLAN_OBJECTS_MAX, Reason } from "../../api/constants.ts";
import { getGroup } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { widensPermissions } from "../../rbac/ruleSets.ts";
import { type ChangePlan, computeChangePlan, countActions, digestPlan, type PlannedObject } from "../../release/changePlan.ts";
import { formatEnumeration } from "../../resolve/wording.ts";
import type { KnownPlan } from "../state/knownPlan.ts";
import type { Unpacked } from "../state/phases.ts";
import type { ApplyContext } from "./applyContext.ts";
import type { NextRelease, RenderedBundle } from "./nextRelease.ts";
import type { Checked } from "./preflightRequest.ts";
import { listLeavingObjects } from "./prune.ts";
import type { ReleaseEvents } from "./releaseEvents.ts";

const MAX_PATH = 256;

/**
 * Checks that the release is approved or requires no approval. Otherwise reports the plan of the release in status.
 * @throws TerminalError AwaitingApproval if you must approve the plan first.
 */
export async function requireApproval(
  context: ApplyContext,
  events: Pick<ReleaseEvents, "approved">,
  rendered: Pick<RenderedBundle, "objects">,
  { bundle, objects: desired, base, content }: NextRelease,
  { live, after }: Pick<Checked, "live" | "after">,
): Promise<void> {
  const { extension, hidden, report } = context.phase;
  if (extension.spec.approval !== "Manual" || context.deps.plans?.isApproved(extension)) return;
  const digest = digestRelease(rendered, { base, content });
  if (isApproved(extension, digest)) return events.approved(bundle.name, digest);
  const leaving = await listLeavingObjects(context.applier, context.pruneRequest(desired));
  const plan = toPlanStatus(computeChangePlan({ digest, desired, live, after, leaving, widens: widensPermissions, hidden }), bundle);
  report.plan = plan;
  throw newApprovalError(extension, plan);
}

/** Reports whether the release is approved or requires no approval. */
export function needsNoApproval(
  { phase: { extension }, deps: { plans } }: ApplyContext,
  rendered: Pick<RenderedBundle, "objects">,
  next: Pick<NextRelease, "base" | "content" | "kind">,
): boolean {
  if (next.kind === "RolledBack" || extension.spec.approval !== "Manual" || plans?.isApproved(extension)) return true;
  return isApproved(extension, digestRelease(rendered, next));
}

function digestRelease({ objects }: Pick<RenderedBundle, "objects">, { base, content }: Pick<NextRelease, "base" | "content">): string {
  return digestPlan({ inputDigest: content.inputDigest, rendered: objects, base: base?.version ?? 0 });
}

/**
 * Checks that the plan to install a bundle with its dependencies is approved or requires no approval. One approval covers all bundles of the plan.
 * Otherwise reports the plan in status.
 * @throws TerminalError AwaitingApproval if you must approve the plan first.
 */
export function requirePlanApproval({ extension, report }: Unpacked, { status }: Pick<KnownPlan, "status">): void {
  if (extension.spec.approval !== "Manual" || isApproved(extension, status.digest)) return;
  const created = status.members.filter((member) => member.created);
  const group = getGroup(API_VERSION);
  const objects = created
    .slice(0, PLAN_OBJECTS_MAX)
    .map((member) => ({ action: "Create" as const, group, kind: CLUSTER_EXTENSION, name: member.extension }));
  report.plan = { digest: status.digest, bundle: status.bundle, create: created.length, update: 0, delete: 0, unchanged: 0, objects };
  const bundles = [status.bundle, ...status.members.map(({ bundle }) => bundle)].map(({ name }) => goQuote(name));
  throw newApprovalError(extension, report.plan, `waiting for approval to install bundles ${formatEnumeration(bundles)}`);
}

/** Converts a plan to `status.plan`: the number of objects by action, and the first objects that would change. */
function toPlanStatus(plan: ChangePlan, bundle: { name: string; version: string }): Plan {
  const counts = countActions(plan);
  const changing = plan.objects.filter(({ action }) => action !== "Unchanged").slice(0, PLAN_OBJECTS_MAX);
  return {
    digest: plan.digest,
    bundle: { name: bundle.name, version: bundle.version },
    create: counts.Create,
    update: counts.Update,
    delete: counts.Delete,
    unchanged: counts.Unchanged,
    ...(changing.length > 0 ? { objects: changing.map(toObjectStatus) } : {}),
  };
}

/**
 * Returns the error that requests approval. It contains the number of objects by action and the command that approves
 * the plan.
 */
function newApprovalError({ metadata: { name } }: Readonly<ClusterExtension>, plan: Plan, message = describeChanges(plan)): TerminalError {
  const next = `kubectl annotate clusterextension ${name} --overwrite ${ANNOTATION_APPROVE}=${plan.digest}`;
  return new TerminalError(Reason.AwaitingApproval, message, { problems: [newProblem("AwaitingApproval", { message, next })] });
}

function describeChanges(plan: Plan): string {
  const { create, update, unchanged } = plan;
  const widening = (plan.objects ?? []).filter(({ widens }) => widens).length;
  const widens = widening > 0 ? `; ${widening} objects would grant more permissions` : "";
  return `waiting for approval to create ${create}, update ${update} and delete ${plan.delete} objects; ${unchanged} objects stay unchanged${widens}`;
}

function toObjectStatus({ action, ref, changes, widens }: PlannedObject): NonNullable<Plan["objects"]>[number] {
  const group = getGroup(ref.apiVersion);
  return {
    action,
    ...(group === "" ? {} : { group }),
    kind: ref.kind,
    ...(ref.namespace ? { namespace: ref.namespace } : {}),
    name: ref.name,
    ...(changes.length > 0 ? { fields: changes.slice(0, PLAN_FIELDS_MAX).map(({ path }) => path.slice(0, MAX_PATH)) } : {}),
    ...(widens ? { widens } : {}),
  };
}
