import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { getNamespace } from "../../api/clusterExtension.ts";
import {
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_EXTENSION,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
  SYSTEM_NAMESPACE,
} from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { OPERATOR_CONDITION, type OperatorConditionObject } from "../../api/operatorCondition.ts";
import { newProblem } from "../../api/problems.ts";
import { StepSequence } from "../../controller/stepSequence.ts";
import { getErrorMessage, wrapError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import type { ResourceOf } from "../../rbac/resources.ts";
import { widensPermissions } from "../../rbac/ruleSets.ts";
import { type ChangePlan, computeChangePlan, countActions, digestPlan } from "../../release/changePlan.ts";
import { describeObject, getObjectKey, isCrd } from "../../release/identity.ts";
import { findInstalledBundle, toReleaseLabels } from "../../release/installedBundle.ts";
import type { ExtensionExists } from "../../release/ownership.ts";
import { getCrdPolicy } from "../../release/plan.ts";
import { findLastDeployed } from "../../release/record.ts";
import { determineState } from "../../release/state.ts";
import { isVeto, readUpgradeable } from "../../release/upgradeVeto.ts";
import { listConfigNotes } from "../../render/configNotes.ts";
import { describeConstraint } from "../../resolve/constraint/evaluate.ts";
import { declaresDependency, formatError, parseConstraints } from "../../resolve/constraint/parse.ts";
import { explainUnavailable } from "../../resolve/unresolved.ts";
import { formatEnumeration } from "../../resolve/wording.ts";
import type { Logger } from "../../telemetry/log.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import { Applier } from "../apply/applier.ts";
import type { CertificateProviders } from "../apply/certificateProviders.ts";
import { DryRun } from "../apply/dryRun.ts";
import { preflight } from "../apply/preflight.ts";
import { type Checked, formatPreflightFinding, type PreflightFinding } from "../apply/preflightRequest.ts";
import { type PreparedObjects, prepareExtension, renderExtension, servesOperatorConditions } from "../apply/preparedObjects.ts";
import { listLeavingObjects, listRemovals, type PruneRequest } from "../apply/prune.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import { describeBackup } from "../crds/backupRecord.ts";
import { ClusterApis } from "../dependencies/clusterApis.ts";
import { loadCelRules } from "../dependencies/constraintCache.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { tryReadClusterVersion } from "../openshift/clusterVersion.ts";
import { formatConditionLimit, limitOperatorCondition } from "../permissions/conditionPermission.ts";
import { findMissingPermissions, formatRbacCommand, type MissingPermissions } from "../permissions/permissions.ts";
import { checkRequirements, reportProxy } from "../reconcile/check.ts";
import { readConfiguration } from "../reconcile/configuration.ts";
import { pinInstalledImage } from "../reconcile/pinInstalledImage.ts";
import { resolveBundle } from "../reconcile/resolve.ts";
import { computeInputDigest, getPullReference } from "../reconcile/unpack.ts";
import { describeVeto, findVetoSource } from "../reconcile/upgradeVeto.ts";
import { ReadOnlyReleases } from "../releases/readOnlyReleases.ts";
import { requireReadable } from "../releases/releaseStore.ts";
import { createUnknownReleases } from "../state/clusterChanges.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { getConfiguration } from "../state/extensionSpec.ts";
import { hideInError, hideSourced, revealNamespaces } from "../state/hiddenValues.ts";
import { formatFirst } from "../state/objectActions.ts";
import { chooseOperatorCondition } from "../state/operatorConditionUse.ts";
import {
  type Authenticated,
  newStarted,
  type Phase,
  type ReconcileStep,
  type Resolved,
  type ResolvedBundle,
  type Started,
  type Unpacked,
} from "../state/phases.ts";
import { chooseProxyVariables } from "../state/proxyVariables.ts";
import type { InstallPlan, InstallPlanObject, InstallPlanWarning, PlanFinding } from "./installPlan.ts";
import {
  computeApproval,
  createFindAwaited,
  type FindAwaited,
  PlanChoice,
  type PlanDependencies,
  toPlanDependencies,
} from "./planDependencies.ts";
import type { ExtensionPreview } from "./previewExtension.ts";

/** Compares the objects with the cluster, and runs the preflight. */
async function compareWithCluster(
  request: PlanRequest,
  phase: Unpacked,
  { objects: desired, kinds }: PreparedObjects,
  { digest, findAwaited }: { digest: string; findAwaited: FindAwaited },
): Promise<{ plan: ChangePlan; refused: ReadonlySet<string>; findings: PlanFinding[]; warnings: InstallPlanWarning[]; notes: string[] }> {
  const { client, isServiceAccount, willBeAdopted, log, signal } = request;
  const { extension, releases, bundle, hidden, client: scoped } = phase;
  const { history, installed } = releases;
  const { spec, metadata } = extension;
  const applier = new Applier(scoped, log, signal);
  const owner = { name: metadata.name, uid: metadata.uid ?? "", installNamespace: getNamespace(extension) };
  const crdPolicy = getCrdPolicy(spec);
  const pruning: PruneRequest = { history: history.current, desired, crdPolicy, owner };
  const images = [installed, bundle].flatMap((one) => (one ? [one.image] : []));
  const findMissing = (identity: Client): Promise<MissingPermissions | undefined> => {
    const resourceOf: ResourceOf = (gvk) => kinds.resourceOf(gvk);
    const permissions = { extension, desired, pruned: listRemovals(pruning), images, config: getConfiguration(phase), resourceOf };
    return findMissingPermissions(identity, permissions, signal);
  };
  request.account?.report(await findMissing(request.account.client));
  const dryRun = new DryRun(scoped, signal);
  const checked = await preflight(
    {
      desired: desired.filter((object) => kinds.resourceOf(object) !== undefined || findAwaited(object) === undefined),
      kinds,
      isAwaited: (gvk) => findAwaited(gvk) !== undefined,
      base: findLastDeployed(history.current),
      owner,
      extensionExists: await listOtherExtensions(client, signal),
      extension,
      handovers: { excludes: () => false },
      willBeAdopted,
      applier,
      dryRun,
      client: scoped,
      discovery: client,
      permissions: isServiceAccount ? () => findMissing(scoped) : undefined,
      advice: `print the exact roles: ${formatRbacCommand(extension, images, { objects: desired, config: getConfiguration(phase) })}`,
      pruning,
      onlyTries: true,
      signal,
    },
    { mode: "collect" },
  );
  const { live, after, refused, tolerated, uncertain } = checked;
  request.seen?.({ live, after });
  const found = checked.findings.map(toPlanFinding);
  const { leaving, unread } = await readLeavingObjects(applier, pruning, signal);
  const findings = [...found, ...unread.filter(({ text }) => !found.some((finding) => finding.text === text))];
  const warnings = dryRun.warnings.map(({ text, refs }) => ({ text, objects: refs.map(describeObject) }));
  const notes = [
    ...checked.notes,
    ...(crdPolicy === "Delete" ? describeLostResources(extension, leaving) : []),
    ...[tolerated, uncertain].flatMap((lacking) => (lacking ? [formatMissing(lacking)] : [])),
  ];
  return {
    plan: computeChangePlan({ digest, desired, live, after, leaving, widens: widensPermissions, hidden }),
    refused,
    findings,
    warnings,
    notes,
  };
}

/** Returns the objects that an upgrade removes; if they cannot be read, a finding. */
async function readLeavingObjects(
  applier: Applier,
  pruning: PruneRequest,
  signal: AbortSignal,
): Promise<{ leaving: readonly KubeObject[]; unread: readonly PlanFinding[] }> {
  try {
    return { leaving: await listLeavingObjects(applier, pruning), unread: [] };
  } catch (err) {
    signal.throwIfAborted();
    return { leaving: [], unread: [{ kind: "read", text: getErrorMessage(err) }] };
  }
}

/** Describes the custom resources that are deleted with their definitions. */
function describeLostResources(extension: Unpacked["extension"], leaving: readonly KubeObject[]): string[] {
  const lost = leaving.filter(isCrd).map(({ metadata: { name } }) => name);
  if (lost.length === 0) return [];
  return [`spec.uninstall.crdPolicy Delete deletes custom resources of ${formatFirst(lost)}. ${describeBackup(extension)}`];
}

function formatMissing({ problem: { message, next } }: MissingPermissions): string {
  return next === undefined ? message : `${message}; ${next}`;
}

/** Converts a preflight finding. In plans of format version 1, a kind conflict has finding kind `ownership`. */
function toPlanFinding(finding: PreflightFinding): PlanFinding {
  const lacking = finding.kind === "permissions" ? finding.problems.find(({ type }) => type === "MissingPermissions") : undefined;
  const [namespace] = finding.kind === "namespace" ? finding.problems.flatMap(({ details }) => details?.namespaces ?? []) : [];
  return {
    kind: finding.kind === "kindConflict" ? "ownership" : finding.kind,
    text: formatPreflightFinding(finding),
    ...(lacking?.details?.permissions ? { permissions: lacking.details.permissions } : {}),
    ...(lacking?.next === undefined ? {} : { grant: lacking.next }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/**
 * Returns a check whether an extension exists. If listing extensions is denied, every extension counts as existing; otherwise the plan could adopt
 * objects of an existing extension.
 */
async function listOtherExtensions(client: Client, signal: AbortSignal): Promise<ExtensionExists> {
  try {
    const { items } = await client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { metadataOnly: true, signal });
    const uids = new Map(items.map(({ metadata }) => [metadata.name, metadata.uid]));
    return (name, uid) => uids.has(name) && (uid === undefined || uid === uids.get(name));
  } catch (err) {
    if (!isForbidden(err)) throw err;
    return () => true;
  }
}

/** Used as the uid of an extension that does not exist yet, because an owner reference needs a uid. */
const NO_UID = "00000000-0000-0000-0000-000000000000";

/**
 * Runs the steps of a reconcile that precede unpacking the bundle: resolution and configuration.
 * @throws Error if no bundle can be resolved, or a request is denied.
 */
async function resolve(request: PlanRequest, phase: Authenticated, choice: PlanChoice): Promise<Resolved> {
  const { catalogs, dependencies, isServiceAccount, contents, log, signal } = request;
  const sources = { catalogs: { list: () => catalogs }, contents };
  const outcome = await StepSequence.from<Authenticated, Phase>()
    .step(resolveBundle({ ...sources, choice, now: Date.now }))
    .step(noteDependencies(dependencies))
    .step(pinInstalledImage({ events: { record: () => undefined }, memory: new ExtensionCache() }))
    .step(readConfiguration({ driftIntervalMs: 0, isServiceAccount }))
    .run(phase, { log, signal });
  if (outcome.kind === "failed") throw outcome.error.cause;
  if (outcome.phase.phase !== "resolved")
    throw new Error(`no bundle was found for ClusterExtension ${goQuote(phase.extension.metadata.name)}`);
  return outcome.phase;
}

/** Reads the releases, and returns the phase with the client of the given identity. @throws Error if they cannot be read. */
async function observe(
  { desired: wanted, client, scoped, systemNamespace, signal }: PlanRequest,
  started: Started,
): Promise<Authenticated> {
  const { extension, hidden } = started;
  const { name } = extension.metadata;
  const history = await new ReadOnlyReleases(client, systemNamespace).history(extension, { signal }).catch((err: unknown) => {
    throw wrapError(`cannot read the releases of ClusterExtension ${goQuote(name)} in namespace ${goQuote(systemNamespace)}: `, err);
  });
  requireReadable(history, "cannot plan: ");
  const installed = findInstalledBundle(history.current);
  const releases = { ...createUnknownReleases(), history, installed };
  hideSourced({ ...started, releases });
  const before = wanted.extension.status?.install?.bundle.name;
  if (!installed && before !== undefined)
    throw new Error(
      `status.install lists bundle ${goQuote(before)}, but namespace ${goQuote(systemNamespace)} contains no release of this bundle; set --system-namespace to the operator-controller namespace (default: ${SYSTEM_NAMESPACE})`,
    );
  return { ...started, phase: "authenticated", releases, client: scoped.withTextFilter((text) => hidden.hide(text)), changes: {} };
}

async function start({ desired: wanted, client, clusterProxy }: PlanRequest): Promise<Started> {
  const { metadata, spec } = wanted.extension;
  const { uid = NO_UID } = metadata;
  const clusterVersion = await tryReadClusterVersion(client);
  const conditionSupport = (await servesOperatorConditions(client)) ? "Served" : "NotServed";
  return newStarted({ ...wanted.extension, metadata: { ...metadata, uid }, spec }, { clusterVersion, clusterProxy, conditionSupport });
}

/** Reports the dependencies of the bundle that were not checked. */
function noteDependencies(dependencies: PlanDependencies | undefined): ReconcileStep<Resolved> {
  return {
    name: "NoteDependencies",
    async run(phase) {
      const unchecked = dependencies ? dependencies.unchecked : "";
      const gaps = (dependencies?.gaps ?? []).map((gap) => `not checked: ${gap}`);
      const notes = [...(unchecked === undefined ? [] : await listUncheckedDependencies(phase, unchecked)), ...gaps];
      phase.report.problems.push(...notes.map((message) => newProblem("UnsatisfiedDependencies", { severity: "Warning", message })));
      return phase;
    },
  };
}

async function listUncheckedDependencies({ extension, bundle }: Resolved, unchecked: string): Promise<string[]> {
  const properties = JSON.parse(bundle.properties ?? "[]") as Property[];
  if (extension.spec.dependencies?.policy === "Ignore" || !declaresDependency(properties)) return [];
  const { constraints, faults } = parseConstraints({ name: bundle.name, properties }, await loadCelRules());
  const policy = extension.spec.dependencies?.policy ?? "Require";
  const needs = constraints.map(describeConstraint);
  const because = unchecked === "" ? "" : `: ${unchecked}`;
  return [
    ...faults.map(formatError),
    ...(needs.length > 0
      ? [
          `the bundle depends on ${formatEnumeration(needs)}; the plan does not check dependencies (spec.dependencies.policy is ${policy})${because}`,
        ]
      : []),
  ];
}

/**
 * Computes the changes that operator-controller would make for an extension; writes nothing.
 * @throws Error if no bundle can be resolved, pulled or rendered, or a request is denied.
 */
export async function createPlan(request: PlanRequest): Promise<InstallPlan> {
  const authenticated = await observe(request, await start(request));
  const choice = new PlanChoice(request.dependencies);
  const resolved = await resolve(request, authenticated, choice);
  try {
    return await buildPlan(request, resolved, choice.listFindings());
  } catch (err) {
    hideInError(err, resolved.hidden);
    throw err;
  }
}

async function buildPlan(request: PlanRequest, resolved: Resolved, unsatisfied: readonly PlanFinding[]): Promise<InstallPlan> {
  const { desired: wanted, client, dependencies, reader, providers } = request;
  const { extension, releases, bundle, hidden, report, plan: known } = resolved;
  const { installed, history } = releases;
  const content = await reader.bundleImage(getPullReference(bundle)).catch((err: unknown) => {
    throw wrapError(`bundle ${goQuote(bundle.name)}: `, err);
  });
  const installer = request.account?.client ?? (request.isServiceAccount ? resolved.client : undefined);
  const limited = installer ? await limitOperatorCondition(resolved, installer, request.signal) : resolved;
  const phase: Unpacked = { ...limited, phase: "unpacked", content };
  await reportProxy.run(phase, request);
  const unmet = [...(await findUnmetRequirements(request, phase)), ...(await findVeto(request, phase))];
  const base = findLastDeployed(history.current);
  const choices = { proxy: chooseProxyVariables(phase), operatorCondition: chooseOperatorCondition(phase) };
  const rendered = await renderExtension(phase, content, await providers.choose(base?.objects ?? []), choices);
  revealNamespaces(hidden, rendered);
  const prepared = await prepareExtension(client, extension, rendered, bundle);
  const inputs = { inputDigest: computeInputDigest(phase), rendered, base: base?.version ?? 0 };
  const findAwaited = createFindAwaited(extension.metadata.name, known);
  const planned = known && dependencies && toPlanDependencies(known, dependencies, { unserved: prepared.kinds.unserved, findAwaited });
  const isOwnPlan = planned?.root === extension.metadata.name;
  const digest = wanted.exists ? (isOwnPlan ? planned.digest : digestPlan(inputs)) : null;
  const { plan, refused, findings, warnings, notes } = await compareWithCluster(request, phase, prepared, {
    digest: digest ?? "",
    findAwaited,
  });
  const counts = countActions(plan);
  const isDeployed = determineState(history.current, { objects: prepared.objects, labels: toReleaseLabels(bundle) }).kind === "Unchanged";
  const relabeled = isDeployed ? [] : formatRelabeled(plan);
  const unused = listConfigNotes(getConfiguration(phase), rendered);
  const remarks = [
    ...wanted.notes,
    ...(phase.conditionSupport === "NotPermitted" ? [formatConditionLimit(phase)] : []),
    ...listRemarks(phase, isDeployed),
    ...report.problems.map(({ message }) => message),
    ...unused,
    ...prepared.notes,
    ...notes,
    ...relabeled,
  ];
  return {
    formatVersion: 1,
    extension: extension.metadata.name,
    exists: wanted.exists,
    installed: base && installed ? { bundle: installed.name, version: installed.version, revision: base.version } : null,
    bundle: toPlanBundle(bundle),
    explanation: bundle.explanation,
    unavailableCatalogs: (report.catalogs.packages ?? [])
      .filter(({ unavailable }) => unavailable !== undefined)
      .map((one) => ({ catalog: one.name, because: truncate(explainUnavailable(one), CAUSE_LENGTH) })),
    counts: { create: counts.Create, update: counts.Update, delete: counts.Delete, unchanged: counts.Unchanged },
    objects: toPlanObjects(plan, refused),
    findings: [...unsatisfied, ...unmet, ...findings].map((finding) => ({ ...finding, text: hidden.hide(finding.text) })),
    warnings,
    notes: remarks.map((remark) => hidden.hide(remark)),
    ...(planned ? { dependencies: planned } : {}),
    digest,
    approval: computeApproval(extension, { digest, isDeployed, isOwnPlan }, dependencies?.state),
  };
}

/** Finds unmet requirements that deny the bundle. If they do not deny it, the phase reports a problem instead. */
async function findUnmetRequirements({ client, dependencies, log, signal }: PlanRequest, phase: Unpacked): Promise<PlanFinding[]> {
  const apis = new ClusterApis({ client, extensions: { get: () => undefined, onEvent: () => undefined }, log });
  const step = checkRequirements({
    apis,
    events: { record: () => undefined },
    memory: new ExtensionCache(),
    plans: dependencies?.state?.plans ?? { listPartners: () => [], listWaiting: () => [] },
  });
  try {
    await step.run(phase, { log, signal });
    return [];
  } catch (err) {
    signal.throwIfAborted();
    return [{ kind: "requirements", text: getErrorMessage(err) }];
  }
}

/** Finds the veto of the installed operator. A user who cannot read its OperatorCondition gets a note instead. */
async function findVeto({ client, signal }: PlanRequest, phase: Unpacked): Promise<PlanFinding[]> {
  const ref = phase.conditionSupport === "Served" ? findVetoSource(phase) : undefined;
  if (!ref) return [];
  try {
    const found = await client.get<OperatorConditionObject>({ ...OPERATOR_CONDITION, ...ref }, { signal });
    const report = found && readUpgradeable(found);
    return report && isVeto(report) ? [{ kind: "veto", text: describeVeto(phase.bundle.name, ref, report) }] : [];
  } catch (err) {
    signal.throwIfAborted();
    const message = `cannot read whether the installed operator allows its upgrade: ${getErrorMessage(err)}`;
    phase.report.problems.push(newProblem("NotUpgradeable", { message }));
    return [];
  }
}

function listRemarks({ extension }: Unpacked, isDeployed: boolean): string[] {
  const pinned = extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
  return [
    ...(extension.spec.suspend ? ["spec.suspend is true: the controller applies nothing until it is false"] : []),
    ...(pinned === undefined
      ? []
      : [
          `annotation ${ANNOTATION_ROLLBACK_TO} pins revision ${pinned}: the controller applies no other bundle until you remove the annotation`,
        ]),
    ...(isDeployed ? ["this release is already deployed: differences are drift, which the controller handles as set in spec.drift"] : []),
  ];
}

function formatRelabeled({ relabeled }: ChangePlan): string[] {
  if (relabeled === 0) return [];
  return [`objects that change only in labels ${LABEL_PACKAGE_NAME} and ${LABEL_BUNDLE_VERSION}: ${relabeled}`];
}

function toPlanBundle({ name, version, image, catalog, support }: ResolvedBundle): InstallPlan["bundle"] {
  return { name, version, image, catalog: catalog ?? null, ...(support ? { support } : {}) };
}

/** Converts the objects of a plan. Omits the changes of an object without a dry run, because they would not include the API server's defaults. */
function toPlanObjects({ objects }: ChangePlan, refused: ReadonlySet<string>): InstallPlanObject[] {
  return objects.map(({ action, ref, changes, more, widens }) => {
    const isRefused = action !== "Delete" && refused.has(getObjectKey(ref));
    return {
      action,
      apiVersion: ref.apiVersion,
      kind: ref.kind,
      ...(ref.namespace ? { namespace: ref.namespace } : {}),
      name: ref.name,
      widens,
      refused: isRefused,
      changes: isRefused ? [] : changes,
      more: isRefused ? 0 : more,
    };
  });
}

/** The input of a plan, and the identities for its requests. */
export interface PlanRequest {
  desired: ExtensionPreview;
  catalogs: readonly ClusterCatalog[];
  /** The user's client, for all requests that operator-controller sends with its own identity. */
  client: Client;
  /** The client for the objects of the bundle. */
  scoped: Client;
  /** Whether `scoped` is the extension's ServiceAccount. If so, its permissions are checked. */
  isServiceAccount: boolean;
  /**
   * Looks up the permissions of the extension's ServiceAccount if `scoped` is another user. Missing permissions are reported as a note, not as a
   * finding.
   */
  account?: { readonly client: Client; readonly report: (lacking: MissingPermissions | undefined) => void } | undefined;
  /** Checks dependencies. Absent if they are not checked. */
  dependencies?: PlanDependencies | undefined;
  /** Reads the bundle of an image. */
  reader: { bundleImage(ref: string): Promise<RenderableBundle> };
  /** Reads packages from the catalogs. */
  contents: CatalogPackages;
  /** Chooses the certificate provider for webhooks, like operator-controller. */
  providers: CertificateProviders;
  /** Proxy for installed operators. */
  clusterProxy: ClusterProxy;
  systemNamespace: string;
  /** Reports whether the extension adopts an object of another owner before it is applied; default: false. */
  willBeAdopted?: (live: KubeObject) => boolean;
  /** Receives the objects before and after the release, by `getObjectKey`. */
  seen?: (tried: Pick<Checked, "live" | "after">) => void;
  log: Logger;
  signal: AbortSignal;
}
