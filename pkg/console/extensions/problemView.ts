import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ProblemData, ReportedProblem } from "../../api/problemSchema.ts";
import { PROBLEM_LIMITS } from "../../api/problemTypes.ts";
import type { ActionRequest } from "../../consoleapi/actions.ts";
import type { ShownObject } from "../../consoleapi/objects.ts";
import type { ProblemEntry, ProblemView } from "../../consoleapi/overview.ts";
import { rulesFromDetails } from "../../operatorcontroller/permissions/permissions.ts";
import { explainProblem } from "../../rollout/conditionAdvice.ts";
import { formatRule, groupByScope, placeRules } from "../../rollout/placedRules.ts";
import type { ReleaseRow } from "../../rollout/releaseHistory.ts";
import { parseSuggestedSteps } from "../../rollout/suggestedStep.ts";
import { truncate } from "../../text/truncate.ts";
import { listExtensionFindings } from "../live/attention.ts";

/** Problems that may be gone at the next attempt, because their cause is outside of the extension. */
const RETRIED: ReadonlySet<string> = new Set(["ImagePullFailed", "QuotaExceeded", "ReconcileFailed", "RegistryUnavailable"]);
/** Problems that an earlier release may not have. */
const ROLLED_BACK: ReadonlySet<string> = new Set(["ProgressDeadlineExceeded", "Unhealthy"]);

/** Returns what the status reports about an extension, most important first. @param releases newest first, or why they cannot be read */
export function listProblemViews(extension: ClusterExtension, releases: readonly ReleaseRow[] | string): ProblemView[] {
  return listExtensionFindings(extension).map(({ type, severity, message, next, tab, problem }) => {
    const details = problem?.details ?? {};
    return {
      type,
      severity: severity === "note" ? "info" : severity,
      message: isListed(details) ? explainProblem(extension, { type }).means : truncate(message, PROBLEM_LIMITS.message),
      next: parseSuggestedSteps(next),
      permissions: listPermissions(details.permissions ?? []),
      details: listDetails(extension, details),
      actions: problem ? listActions(extension, problem, releases) : [],
      ...(tab === undefined ? {} : { tab }),
    };
  });
}

function listPermissions(permissions: NonNullable<ProblemData["permissions"]>): ProblemView["permissions"] {
  return groupByScope(placeRules(rulesFromDetails(permissions))).map(({ namespace, rules }) => ({
    namespace,
    rules: rules.map(({ rule }) => formatRule(rule)),
  }));
}

function listDetails(extension: ClusterExtension, details: ProblemData): ProblemEntry[] {
  const { objects = [], crds = [], catalogs = [], candidates = [], quotas = [], dependencies = [] } = details;
  const { dependents = [], requirements = [], configuration = [], namespaces = [], finalizers = [] } = details;
  const { signatures = [], clusterUpgrade } = details;
  const plain = (name: string, text = ""): ProblemEntry => ({ name, text });
  return [
    ...objects.map((object) => describeObject(extension, object)),
    ...crds.map(({ name, check, message }) => ({
      ...plain(check === undefined ? name : `${name} (${check})`, message),
      object: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name },
    })),
    ...catalogs.map(({ name, message }) => ({ ...plain(name, message), catalog: name })),
    ...candidates.map(({ catalog, bundle, rule }) => ({ ...plain(bundle, `excluded by ${rule} (catalog ${catalog})`), catalog })),
    ...quotas.map(({ namespace, name, message }) => ({
      ...plain(`${namespace}/${name}`, message),
      object: { apiVersion: "v1", kind: "ResourceQuota", namespace, name },
    })),
    ...dependencies.map(({ bundle = "", message }) => plain(bundle, message)),
    ...dependents.map((name) => ({ ...plain(name), extension: name })),
    ...requirements.map((text) => plain("", text)),
    ...configuration.map(({ path, message }) => plain(path, message)),
    ...namespaces.map((name) => plain(name)),
    ...finalizers.map((name) => plain(name)),
    ...signatures.map(({ reason, message }) => plain(reason, message)),
    ...(clusterUpgrade ? clusterUpgrade.bundles.map((bundle) => plain(bundle, clusterUpgrade.remedy)) : []),
  ];
}

/** Whether the details say everything: the messages of these problems join the texts of several findings. */
function isListed({ crds = [], dependencies = [], configuration = [], signatures = [] }: ProblemData): boolean {
  return Math.max(crds.length, dependencies.length, configuration.length, signatures.length) > 1;
}

type DetailObject = NonNullable<ProblemData["objects"]>[number];

function describeObject(extension: ClusterExtension, object: DetailObject): ProblemEntry {
  const { kind, namespace, name = "", owner, fields = [], message } = object;
  const texts = [
    message,
    owner === undefined ? undefined : `owner: ${owner}`,
    fields.length > 0 ? `fields: ${fields.join(", ")}` : undefined,
  ];
  const found = findReference(extension, object);
  return {
    name: `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`.trim(),
    text: texts.filter((text) => text !== undefined).join("; "),
    ...(found ? { object: found } : {}),
  };
}

/** Returns the reference of an object of the installed bundle: details of problems have no version. */
function findReference({ status }: ClusterExtension, { group = "", kind, namespace, name }: DetailObject): ShownObject | undefined {
  const found = status?.inventory?.objects.find(
    (one) => (one.group ?? "") === group && one.kind === kind && (one.namespace ?? "") === (namespace ?? "") && one.name === name,
  );
  if (!found || name === undefined) return undefined;
  const apiVersion = group === "" ? found.version : `${group}/${found.version}`;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

function listActions(
  { metadata: { name }, status }: ClusterExtension,
  { type }: ReportedProblem,
  releases: readonly ReleaseRow[] | string,
): ActionRequest[] {
  if (type === "AwaitingApproval" && status?.plan) return [{ action: "approvePlan", extension: name, digest: status.plan.digest }];
  if (type === "RevisionPinned") return [{ action: "removePin", extension: name }];
  if (type === "Suspended") return [{ action: "resume", extension: name }];
  if (type === "DriftDetected") return [{ action: "setDriftPolicy", extension: name, policy: "Correct" }];
  if (RETRIED.has(type)) return [{ action: "reconcile", extension: name }];
  const revision = ROLLED_BACK.has(type) ? findEarlierRevision(releases) : undefined;
  return revision === undefined ? [] : [{ action: "rollBack", extension: name, revision }];
}

/** Returns the revision before the deployed one; undefined for the first revision. */
function findEarlierRevision(releases: readonly ReleaseRow[] | string): number | undefined {
  if (typeof releases === "string") return undefined;
  const current = releases.find((release) => release.current)?.revision ?? 0;
  return releases.find(({ revision, status }) => revision < current && status === "superseded")?.revision;
}
