import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import {
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_EXTENSION,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
  SYSTEM_NAMESPACE,
} from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { providerOf } from "../../certificates/providers.ts";
import { messageOf, wrapError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import type { ResourceOf } from "../../rbac/resources.ts";
import { widensRights } from "../../rbac/ruleSets.ts";
import { type ChangePlan, changePlan, countActions, planDigest } from "../../release/changePlan.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { installedOf, labelsFrom } from "../../release/installedBundle.ts";
import type { ExtensionExists } from "../../release/ownership.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import { lastDeployed } from "../../release/record.ts";
import { determineState } from "../../release/state.ts";
import { configNotes } from "../../render/configNotes.ts";
import { describe } from "../../resolve/constraint/evaluate.ts";
import { constraintsOf, faultText, isDependency } from "../../resolve/constraint/parse.ts";
import { chooseBest } from "../../resolve/resolve.ts";
import { explainUnavailable } from "../../resolve/unresolved.ts";
import { formatEnumeration } from "../../resolve/wording.ts";
import type { Logger } from "../../telemetry/log.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import { Applier } from "../apply/applier.ts";
import { isApproved } from "../apply/approval.ts";
import type { CertificateProviders } from "../apply/certificateProviders.ts";
import { DryRun } from "../apply/dryRun.ts";
import { toleratedText } from "../apply/permissionCheck.ts";
import { preflight } from "../apply/preflight.ts";
import { type Checked, findingText, type PreflightFinding } from "../apply/preflightRequest.ts";
import { type PreparedObjects, prepareFor, renderFor } from "../apply/preparedObjects.ts";
import { leavingObjects, type PruneRequest, removals } from "../apply/prune.ts";
import { contentOf } from "../bundles/bundleCache.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import { ClusterApis } from "../dependencies/clusterApis.ts";
import { loadCelRules } from "../dependencies/constraintCache.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { readClusterVersion } from "../openshift/clusterVersion.ts";
import { type LackingPermissions, lackingPermissions, rbacCommand } from "../permissions/permissions.ts";
import { checkRequirements, reportProxy } from "../reconcile/check.ts";
import { readConfiguration } from "../reconcile/configuration.ts";
import { pinInstalledImage } from "../reconcile/pinInstalledImage.ts";
import { resolveBundle } from "../reconcile/resolve.ts";
import { inputDigest, pullReference } from "../reconcile/unpack.ts";
import { ReleaseStore, requireReadable } from "../releases/releaseStore.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { hideInError, hideSourced, revealNamespaces } from "../state/hiddenValues.ts";
import { proxyOf } from "../state/proxyVariables.ts";
import { configOf, newReconcileState, type ReconcileState, type ResolvedBundle } from "../state/reconcileState.ts";
import type { Finding, InstallPlan, InstallPlanObject, InstallPlanWarning } from "./installPlan.ts";
import type { WantedExtension } from "./wantedExtension.ts";

/** The objects against the cluster. */
async function compare(
  request: PlanRequest,
  facts: ReconcileState,
  { objects: desired, kinds }: PreparedObjects,
  digest: string,
): Promise<{ plan: ChangePlan; refused: ReadonlySet<string>; findings: Finding[]; warnings: InstallPlanWarning[]; notes: string[] }> {
  const { client, isServiceAccount, willBeGiven, log, signal } = request;
  const { extension, history, installed, resolved, hidden, scoped = request.scoped } = facts;
  const { spec, metadata } = extension;
  const applier = new Applier(scoped, log, signal);
  const owner = { name: metadata.name, uid: metadata.uid ?? "", installNamespace: spec.namespace };
  const crdPolicy = crdPolicyOf(spec);
  const pruning: PruneRequest = { history: history.current, desired, crdPolicy, owner };
  const images = [installed, resolved].flatMap((bundle) => (bundle ? [bundle.image] : []));
  const lackingOf = (identity: Client): Promise<LackingPermissions | undefined> => {
    const resourceOf: ResourceOf = (gvk) => kinds.resourceOf(gvk);
    const permissions = { extension, desired, pruned: removals(pruning), images, config: configOf(facts), resourceOf };
    return lackingPermissions(identity, permissions, signal);
  };
  request.account?.tell(await lackingOf(request.account.client));
  const dryRun = new DryRun(scoped, signal);
  const checked = await preflight(
    {
      desired,
      kinds,
      base: lastDeployed(history.current),
      owner,
      extensionExists: await otherExtensions(client, signal),
      extension,
      handovers: { excludes: () => false },
      willBeGiven,
      applier,
      dryRun,
      client: scoped,
      discovery: client,
      permissions: isServiceAccount ? () => lackingOf(scoped) : undefined,
      advice: `print the exact roles: ${rbacCommand(extension, images, providerOf(desired)?.name, configOf(facts))}`,
      pruning,
      onlyTries: true,
      signal,
    },
    { mode: "collect" },
  );
  const { live, after, refused, tolerated, doubtful } = checked;
  request.seen?.({ live, after });
  const findings = checked.findings.map(planFinding);
  const leaving = await leavingObjects(applier, pruning).catch((err: unknown): KubeObject[] => {
    signal.throwIfAborted();
    const text = messageOf(err);
    if (!findings.some((finding) => finding.text === text)) findings.push({ kind: "read", text });
    return [];
  });
  const warnings = dryRun.warnings.map(({ text, refs }) => ({ text, objects: refs.map(describeObject) }));
  const notes = [...checked.notes, ...(tolerated ? [toleratedText(tolerated)] : []), ...(doubtful ? [doubtful.text] : [])];
  return { plan: changePlan({ digest, desired, live, after, leaving, widens: widensRights, hidden }), refused, findings, warnings, notes };
}

/** In format version 1 of a plan, a conflict of kinds is one of ownership. */
function planFinding(finding: PreflightFinding): Finding {
  return { kind: finding.kind === "kindConflict" ? "ownership" : finding.kind, text: findingText(finding) };
}

/** Without the right to look, every extension that an object names counts as existing, so that nothing is taken from it. */
async function otherExtensions(client: Client, signal: AbortSignal): Promise<ExtensionExists> {
  try {
    const { items } = await client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { metadataOnly: true, signal });
    const uids = new Map(items.map(({ metadata }) => [metadata.name, metadata.uid]));
    return (name, uid) => uids.has(name) && (uid === undefined || uid === uids.get(name));
  } catch (err) {
    if (!isForbidden(err)) throw err;
    return () => true;
  }
}

/** Stands in for the uid of an extension that does not exist: an owner reference needs one. */
const NO_UID = "00000000-0000-0000-0000-000000000000";

/**
 * What a pass over the extension would know before it renders the bundle: releases, resolution and configuration.
 * @throws Error where no bundle can be resolved, or the cluster may not be asked.
 */
async function factsOf(request: PlanRequest): Promise<ReconcileState> {
  const { wanted, catalogs, client, clusterProxy, scoped, isServiceAccount, contents, systemNamespace, log, signal } = request;
  const { metadata, spec } = wanted.extension;
  const { uid = NO_UID } = metadata;
  const extension = { ...wanted.extension, metadata: { ...metadata, uid }, spec };
  const facts = newReconcileState(extension, await clusterVersion(client), clusterProxy);
  facts.history = await new ReleaseStore(client, systemNamespace)
    .history({ name: metadata.name, uid }, { signal })
    .catch((err: unknown) => {
      throw wrapError(`read the releases of ClusterExtension ${goQuote(metadata.name)} in namespace ${goQuote(systemNamespace)}: `, err);
    });
  requireReadable(facts.history, "cannot plan: ");
  facts.installed = installedOf(facts.history.current);
  hideSourced(facts);
  facts.scoped = scoped.telling((text) => facts.hidden.hide(text));
  const before = wanted.extension.status?.install?.bundle.name;
  if (!facts.installed && before !== undefined)
    throw new Error(
      `bundle ${goQuote(before)} is installed, and namespace ${goQuote(systemNamespace)} holds no release of it; give --system-namespace the namespace of operator-controller (default ${SYSTEM_NAMESPACE})`,
    );
  await resolveBundle({
    catalogs: { list: () => catalogs },
    contents,
    dependencies: { choose: (_, filtered) => Promise.resolve({ resolution: chooseBest(filtered) }) },
  }).run(facts, { object: extension, log, signal });
  facts.notes.push(...(await dependencyNotes(facts)));
  await pinInstalledImage({ record: () => undefined }, new ExtensionCache()).run(facts, { object: extension, log, signal });
  await readConfiguration({ driftIntervalMs: 0, isServiceAccount }).run(facts, { object: extension, log, signal });
  return facts;
}

/** What the bundle depends on: whether that is met, operator-controller finds out. */
async function dependencyNotes({ extension, resolved }: ReconcileState): Promise<string[]> {
  const properties = JSON.parse(resolved?.properties ?? "[]") as Property[];
  if (!resolved || extension.spec.dependencies?.policy === "Ignore" || !properties.some(({ type }) => isDependency(type))) return [];
  const { constraints, faults } = constraintsOf({ name: resolved.name, properties }, await loadCelRules());
  const policy = extension.spec.dependencies?.policy ?? "Require";
  const needs = constraints.map(describe);
  return [
    ...faults.map(faultText),
    ...(needs.length > 0
      ? [`it depends on ${formatEnumeration(needs)}; whether that is met is not looked at here, spec.dependencies.policy is ${policy}`]
      : []),
  ];
}

async function clusterVersion(client: Client): Promise<ClusterVersion> {
  try {
    return await readClusterVersion(client);
  } catch (err) {
    return { kind: "unknown", because: messageOf(err) };
  }
}

/**
 * What operator-controller would do for an extension; nothing is written.
 * @throws Error where no bundle can be resolved, pulled or rendered, or the cluster may not be asked.
 */
export async function makePlan(request: PlanRequest): Promise<InstallPlan> {
  const facts = await factsOf(request);
  try {
    return await planFrom(request, facts);
  } catch (err) {
    hideInError(err, facts.hidden);
    throw err;
  }
}

async function planFrom(request: PlanRequest, facts: ReconcileState): Promise<InstallPlan> {
  const { wanted, client, reader, providers } = request;
  const { extension, history, resolved } = facts;
  if (!resolved) throw new Error(`no bundle was found for ClusterExtension ${goQuote(extension.metadata.name)}`);
  const bundle = await reader.bundle(pullReference(resolved)).catch((err: unknown) => {
    throw wrapError(`bundle ${goQuote(resolved.name)}: `, err);
  });
  facts.content = contentOf(bundle);
  await reportProxy.run(facts, { object: extension, log: request.log, signal: request.signal });
  const unmet = await unmetFindings(request, facts);
  const base = lastDeployed(history.current);
  const rendered = await renderFor(facts, facts.content, await providers.choose(base?.objects ?? []), proxyOf(facts));
  revealNamespaces(facts.hidden, rendered);
  const prepared = await prepareFor(client, extension, rendered, resolved);
  const inputs = { inputDigest: inputDigest(facts), rendered, base: base?.version ?? 0 };
  const digest = wanted.exists ? planDigest(inputs) : "";
  const { plan, refused, findings, warnings, notes } = await compare(request, facts, prepared, digest);
  const counts = countActions(plan);
  const isDeployed = determineState(history.current, { objects: prepared.objects, labels: labelsFrom(resolved) }).kind === "Unchanged";
  const relabeled = isDeployed ? [] : relabeledIn(plan);
  const unused = configNotes(configOf(facts), rendered);
  const remarks = [...wanted.notes, ...remarksOn(facts, isDeployed), ...facts.notes, ...unused, ...prepared.notes, ...notes, ...relabeled];
  return {
    formatVersion: 1,
    extension: extension.metadata.name,
    exists: wanted.exists,
    installed: base && facts.installed ? { bundle: facts.installed.name, version: facts.installed.version, revision: base.version } : null,
    bundle: bundleOf(resolved),
    explanation: resolved.explanation,
    unavailableCatalogs: (facts.catalogs ?? [])
      .filter(({ unavailable }) => unavailable !== undefined)
      .map((one) => ({ catalog: one.name, because: truncate(explainUnavailable(one), CAUSE_LENGTH) })),
    counts: { create: counts.Create, update: counts.Update, delete: counts.Delete, unchanged: counts.Unchanged },
    objects: objectsOf(plan, refused),
    findings: [...unmet, ...findings].map((finding) => ({ ...finding, text: facts.hidden.hide(finding.text) })),
    warnings,
    notes: remarks.map((remark) => facts.hidden.hide(remark)),
    digest: wanted.exists ? digest : null,
    approval: {
      needed: extension.spec.approval === "Manual" && !isDeployed,
      given: extension.spec.approval === "Manual" && wanted.exists && isApproved(extension, digest),
    },
  };
}

/** What the bundle requires in vain, where it would be refused for that; where it would not be, the facts' notes say it. */
async function unmetFindings({ client, log, signal }: PlanRequest, facts: ReconcileState): Promise<Finding[]> {
  const apis = new ClusterApis({ client, extensions: { get: () => undefined, onEvent: () => undefined }, log });
  const step = checkRequirements({ apis, events: { record: () => undefined }, memory: new ExtensionCache() });
  try {
    await step.run(facts, { object: facts.extension, log, signal });
    return [];
  } catch (err) {
    signal.throwIfAborted();
    return [{ kind: "requirements", text: messageOf(err) }];
  }
}

function remarksOn({ extension }: ReconcileState, isDeployed: boolean): string[] {
  const pinned = extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
  return [
    ...(extension.spec.suspend ? ["spec.suspend is true: nothing of this is done before it is false"] : []),
    ...(pinned === undefined
      ? []
      : [`annotation ${ANNOTATION_ROLLBACK_TO} keeps revision ${pinned}: nothing of this is done before it is removed`]),
    ...(isDeployed ? ["this is what is released already: where objects differ they were changed since, see spec.drift"] : []),
  ];
}

function relabeledIn({ relabeled }: ChangePlan): string[] {
  if (relabeled === 0) return [];
  return [`of the unchanged objects ${relabeled} get other labels ${LABEL_PACKAGE_NAME} and ${LABEL_BUNDLE_VERSION}, and nothing else`];
}

function bundleOf({ name, version, image, catalog }: ResolvedBundle): InstallPlan["bundle"] {
  return { name, version, image, catalog: catalog ?? null };
}

/** Of an object that could not be tried only what it would be without the API server's defaults is known: its fields are left out. */
function objectsOf({ objects }: ChangePlan, refused: ReadonlySet<string>): InstallPlanObject[] {
  return objects.map(({ action, ref, changes, more, widens }) => {
    const isRefused = action !== "Delete" && refused.has(objectKey(ref));
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

/** What a plan is made of, and with whose rights. */
export interface PlanRequest {
  wanted: WantedExtension;
  catalogs: readonly ClusterCatalog[];
  /** The user's: for everything that operator-controller does with its own rights. */
  client: Client;
  /** For the objects of the bundle. */
  scoped: Client;
  /** Whether `scoped` is the extension's ServiceAccount, whose rights are looked at then. */
  isServiceAccount: boolean;
  /** Asks for the permissions of the extension's ServiceAccount although `scoped` is another user. Missing permissions are reported, not counted as findings. */
  account?: { readonly client: Client; readonly tell: (lacking: LackingPermissions | undefined) => void } | undefined;
  /** Reads the bundle of an image. */
  reader: { bundle(source: string): Promise<RegistryV1Bundle> };
  /** What the catalogs say. */
  contents: CatalogPackages;
  /** Chooses who provides the certificates of webhooks, as operator-controller does. */
  providers: CertificateProviders;
  /** Proxy for installed operators. */
  clusterProxy: ClusterProxy;
  systemNamespace: string;
  /** Whether an object that is somebody else's now will have been given to the extension before it is applied; default: none will. */
  willBeGiven?: (live: KubeObject) => boolean;
  /** Gets the objects as they are and as they would be, by `objectKey`. */
  seen?: (tried: Pick<Checked, "live" | "after">) => void;
  log: Logger;
  signal: AbortSignal;
}
