import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_APPROVE } from "../../api/constants.ts";
import { findProblem } from "../../api/problems.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import { type ExtensionPlan, type ObjectChangeRow, PLAN_OBJECTS_SHOWN, type PlanFindingRow } from "../../consoleapi/plan.ts";
import { formatSupport } from "../../fbc/versionSupport.ts";
import { rulesFromDetails } from "../../operatorcontroller/permissions/permissions.ts";
import type {
  PlanFinding as Finding,
  InstallPlanDependencies,
  InstallPlanMember,
  InstallPlanObject,
} from "../../operatorcontroller/plan/installPlan.ts";
import { isPlanAccepted, type PlanView } from "../../preview/extensionPlan.ts";
import { isMinorField } from "../../preview/minorFields.ts";
import { findLastWrite } from "../../release/managedFields.ts";
import { findDecidingCondition, hasForeignStatus, isAsDesired } from "../../rollout/extensionState.ts";
import { placeRules } from "../../rollout/placedRules.ts";
import { parseSuggestedStep } from "../../rollout/suggestedStep.ts";
import { describeSupport } from "../../rollout/supportText.ts";
import { formatCount } from "../../text/lists.ts";
import { toSentence } from "../../text/sentence.ts";
import { truncate } from "../../text/truncate.ts";
import { toMoodText } from "../live/rows.ts";
import { buildPermissionsPreview } from "../permissions/permissionsPreview.ts";
import { buildRuleList } from "../permissions/ruleRows.ts";
import { offerAcceptance, offerRejections, type TriedPlan } from "./planActions.ts";

const TEXT_MAX = 8_000;
const LIST_MAX = 200;

/** Titles of findings, most important first. */
const FINDINGS: Readonly<Record<Finding["kind"], string>> = {
  permissions: "Missing permissions",
  crdUpgrade: "Unsafe change of a CustomResourceDefinition",
  conversion: "Conversion of custom resources",
  ownership: "Objects of another owner",
  requirements: "Requirements of the bundle",
  veto: "Held by the installed operator",
  dependencies: "Dependencies",
  namespace: "Namespace",
  kindNotServed: "Missing API",
  quota: "Quota",
  dryRun: "Rejected by the API server",
  read: "Cannot be read",
};
const OTHER_OLM = "another implementation of OLM v1 carries out the plan, so details may differ";
const ORDER = Object.keys(FINDINGS);
const DEFINITIONS: ReadonlySet<string> = new Set(["crdUpgrade", "conversion"]);

/**
 * Returns why the controller would reject a plan. Plans are tried with the identity of the user, so the missing permissions of the extension's
 * ServiceAccount come from the status, which describes only the current limits.
 */
function listFindings({ findings }: PlanView, { status, spec }: ClusterExtension, { isChanged }: TriedPlan): PlanFindingRow[] {
  const failed = isChanged ? undefined : findForeignFailure(status);
  if (failed !== undefined) return [{ title: "Last attempt of the controller", text: truncate(failed, TEXT_MAX), isDefinition: false }];
  const own = findings.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)).slice(0, LIST_MAX);
  const missing = isChanged || !spec.serviceAccount ? undefined : findProblem(status, "MissingPermissions");
  if (!missing || own.some(({ kind }) => kind === "permissions")) return own.map(toFinding);
  const { message, next, details } = missing;
  const { permissions = [] } = details ?? {};
  return [
    toFinding({ kind: "permissions", text: toSentence(message), permissions, ...(next === undefined ? {} : { grant: next }) }),
    ...own.map(toFinding),
  ];
}

/** Returns the error of the last attempt of another implementation, which reports it only in a condition; undefined if it succeeded. */
function findForeignFailure(status: ClusterExtension["status"]): string | undefined {
  const deciding = hasForeignStatus({ status }) ? findDecidingCondition(status?.conditions) : undefined;
  return deciding && !isAsDesired(deciding) ? deciding.message : undefined;
}

/** Describes a plan to the page. @param computed time in RFC 3339 */
export function buildExtensionPlan(plan: PlanView, extension: ClusterExtension, choice: TriedPlan, computed: string): ExtensionPlan {
  const { bundle, installed, counts, objects, dependencies, permissions, digest, approval } = plan;
  const accept = offerAcceptance(plan, extension, choice);
  const findings = listFindings(plan, extension, choice);
  return {
    computed,
    verdict: describeVerdict(plan, findings.length),
    ...(installed ? { installed: { bundle: installed.bundle, version: installed.version } } : {}),
    bundle: { name: bundle.name, version: bundle.version, ...(bundle.catalog === null ? {} : { catalog: bundle.catalog }) },
    ...(bundle.support
      ? { support: toMoodText({ ...describeSupport(bundle.support), text: toSentence(formatSupport(bundle.support)) }) }
      : {}),
    explanation: toSentence(plan.explanation),
    counts,
    objects: objects.slice(0, PLAN_OBJECTS_SHOWN).map(toObjectChangeRow),
    omittedObjects: Math.max(objects.length - PLAN_OBJECTS_SHOWN, 0),
    findings,
    ...(permissions
      ? { permissions: "unknown" in permissions ? toSentence(permissions.unknown) : buildPermissionsPreview(permissions) }
      : {}),
    warnings: plan.warnings.slice(0, LIST_MAX).map(({ text, objects: about }) => ({ text, objects: about.slice(0, LIST_MAX) })),
    // The notes of a plan are about operator-controller of olmv1.
    notes: [...(choice.isOtherOlm ? [OTHER_OLM] : plan.notes), ...describeUnchecked(extension, choice)]
      .slice(0, LIST_MAX)
      .map((text) => toSentence(text)),
    unavailableCatalogs: plan.unavailableCatalogs
      .slice(0, LIST_MAX)
      .map(({ catalog, because }) => ({ catalog, because: toSentence(because) })),
    ...(dependencies ? { dependencies: buildDependencies(dependencies, plan.extension) } : {}),
    ...(digest === null || choice.isOtherOlm ? {} : { digest }),
    approval: describeApproval(plan, extension, choice),
    ...(accept ? { accept } : {}),
    reject: offerRejections(plan, extension, choice),
    rejectNote: approval.needed
      ? "A plan that you do not approve changes nothing, so it needs no rejection. These changes keep the controller from offering the plan:"
      : "The controller carries out a plan without asking. These changes keep it from that:",
    ...(choice.command === undefined ? {} : { command: choice.command }),
  };
}

/**
 * Describes the plan that waits for approval from the status, for users who may not read what the complete plan needs.
 * @param why the reason, as a clause
 */
export function buildStatusPlan(extension: ClusterExtension, tried: TriedPlan, why: string, computed: string): ExtensionPlan | undefined {
  const { metadata, status } = extension;
  const { plan, install } = status ?? {};
  if (!plan || tried.isChanged) return undefined;
  const { digest, bundle, objects = [], create, update, delete: deleted, unchanged } = plan;
  const view = buildExtensionPlan(
    {
      formatVersion: 1,
      extension: metadata.name,
      exists: true,
      installed: install ? { bundle: install.bundle.name, version: install.bundle.version, revision: 0 } : null,
      bundle: { ...bundle, image: "", catalog: null },
      explanation: "",
      unavailableCatalogs: [],
      counts: { create, update, delete: deleted, unchanged },
      objects: objects.map(({ action, group = "", kind, namespace, name, fields = [], widens = false }) => ({
        action,
        apiVersion: group,
        kind,
        ...(namespace === undefined ? {} : { namespace }),
        name,
        widens,
        refused: false,
        changes: fields.map((path) => ({ path })),
        more: 0,
      })),
      findings: [],
      warnings: [],
      notes: [],
      digest,
      approval: { needed: true, given: false },
    },
    extension,
    tried,
    computed,
  );
  const total = create + update + deleted;
  return {
    ...view,
    notice: toSentence(`the complete plan cannot be computed, so this is the plan in the status: ${why}`),
    objects: view.objects.map((object) => ({ ...object, hasUnknownValues: true })),
    omittedObjects: Math.max(total - view.objects.length, 0),
  };
}

function describeUnchecked({ spec }: ClusterExtension, { isChanged }: TriedPlan): string[] {
  const account = spec.serviceAccount?.name;
  if (!isChanged || !account) return [];
  return [`whether ServiceAccount ${account} has the permissions for this version is not checked; the tab Permissions compares them`];
}

function describeVerdict(plan: PlanView, errors: number): MoodText {
  const { counts, approval, permissions } = plan;
  if (errors > 0) return { text: `The controller would reject this plan: ${formatCount(errors, "error")}.`, mood: "bad" };
  if (!isPlanAccepted(plan)) return { text: "The policy denies the permissions of this plan.", mood: "bad" };
  if (counts.create + counts.update + counts.delete === 0) return { text: "Nothing would change.", mood: "good" };
  if (permissions && "state" in permissions && permissions.state === "Pending")
    return { text: "The permissions of this plan would wait for approval.", mood: "warning" };
  if (approval.needed && !approval.given) return { text: "The controller carries out this plan after your approval.", mood: "warning" };
  return { text: "The controller would carry out this plan.", mood: "good" };
}

function toObjectChangeRow(object: InstallPlanObject): ObjectChangeRow {
  const { action, apiVersion, kind, namespace, name, widens, refused, changes, more } = object;
  return {
    action,
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    widens,
    refused,
    fields: changes.map((change) => ({ ...change, isMinor: isMinorField(change.path) })),
    more,
  };
}

function toFinding({ kind, text, permissions, grant }: Finding): PlanFindingRow {
  return {
    title: FINDINGS[kind],
    text: truncate(text.trim(), TEXT_MAX),
    isDefinition: DEFINITIONS.has(kind),
    ...(permissions ? { rules: buildRuleList(placeRules(rulesFromDetails(permissions))) } : {}),
    ...(grant === undefined ? {} : { grant: parseSuggestedStep(grant) }),
  };
}

function buildDependencies(
  { root, members, failure, awaitedKinds }: InstallPlanDependencies,
  extension: string,
): NonNullable<ExtensionPlan["dependencies"]> {
  const waves = [...Map.groupBy(members.slice(0, LIST_MAX), ({ wave }) => wave)];
  return {
    waves: waves.map(([wave, own]) => ({ wave, members: own.map((member) => toMember(member, extension)) })),
    notes: [
      ...(root === extension ? [] : [`The plan belongs to ClusterExtension ${root}.`]),
      ...awaitedKinds
        .slice(0, LIST_MAX)
        .map(
          ({ apiVersion, kind, bundle }) => `${kind} (${apiVersion}) comes with bundle ${bundle}, so objects of this kind were not tried.`,
        ),
      ...(failure ? [toSentence(`The plan was rolled back (${formatCount(failure.attempts, "attempt")}): ${failure.message}`)] : []),
      ...(failure ? [`The controller retries after ${failure.retryAt}, or as soon as the spec or a bundle changes.`] : []),
    ],
  };
}

function toMember({ extension, created, bundle, catalog, reason, installed }: InstallPlanMember, own: string) {
  return {
    extension,
    isOwn: extension === own,
    state: installed ? "installed" : created ? "new ClusterExtension" : "to install",
    bundle: bundle.name,
    version: bundle.version,
    catalog,
    ...(reason === null ? {} : { reason: toSentence(reason) }),
  };
}

/** Says whether the plan needs an approval, who gave it, and who last changed the spec. */
function describeApproval(
  { approval, digest, dependencies }: PlanView,
  { metadata, status }: ClusterExtension,
  { isChanged, isOtherOlm }: TriedPlan,
): ExtensionPlan["approval"] {
  const waiting = status?.plan?.digest;
  const isOther = !isChanged && waiting !== undefined && digest !== null && waiting !== digest;
  const spec = findLastWrite(metadata.managedFields ?? [], ["f:spec"]);
  const given = findLastWrite(metadata.managedFields ?? [], ["f:metadata", "f:annotations", `f:${ANNOTATION_APPROVE}`]);
  return [
    ...(isOtherOlm
      ? [{ text: "The OLM of this cluster has no approvals, so it carries out changes immediately." }]
      : approval.needed
        ? []
        : [{ text: "spec.approval is not Manual, so the controller carries out changes without an approval." }]),
    ...(approval.needed && approval.given
      ? [given ? { text: `Approved by ${given.manager}`, time: given.time } : { text: "The plan is approved." }]
      : []),
    ...(approval.needed && dependencies?.root === metadata.name ? [{ text: "One approval covers all bundles of the plan." }] : []),
    ...(isOther ? [{ text: "The controller has not updated the plan in status.plan yet, which has another digest." }] : []),
    ...(spec ? [{ text: `Spec changed by ${spec.manager}`, time: spec.time }] : []),
  ];
}
