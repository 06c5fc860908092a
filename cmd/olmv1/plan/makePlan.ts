import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import {
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_EXTENSION,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
  SYSTEM_NAMESPACE,
} from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { messageOf, wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import type { Property } from "../../../pkg/fbc/types.ts";
import type { ClusterVersion } from "../../../pkg/gate/clusterVersion.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { Applier } from "../../../pkg/operatorcontroller/apply/applier.ts";
import { isApproved } from "../../../pkg/operatorcontroller/apply/approval.ts";
import { type PreparedObjects, prepareFor, renderFor } from "../../../pkg/operatorcontroller/apply/preparedObjects.ts";
import { leavingObjects, type PruneRequest, unwanted } from "../../../pkg/operatorcontroller/apply/prune.ts";
import type { CertificateProviders } from "../../../pkg/operatorcontroller/certificates/providerChoice.ts";
import { hideInError, hideSourced, revealNamespaces } from "../../../pkg/operatorcontroller/configuration/hiding.ts";
import { loadCelRules } from "../../../pkg/operatorcontroller/dependencies/loadCelRules.ts";
import { configOf, newFacts, type PassFacts, type ResolvedBundle } from "../../../pkg/operatorcontroller/facts.ts";
import { ExtensionMemory } from "../../../pkg/operatorcontroller/memory.ts";
import type { ClusterProxy } from "../../../pkg/operatorcontroller/proxy/clusterProxy.ts";
import { proxyOf } from "../../../pkg/operatorcontroller/proxy/passProxy.ts";
import { ReleaseStore } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import { lackingPermissions } from "../../../pkg/operatorcontroller/rights/permissions.ts";
import { rbacCommand } from "../../../pkg/operatorcontroller/rights/rbacCommand.ts";
import { ClusterApis } from "../../../pkg/operatorcontroller/served/clusterApis.ts";
import { checkRequirements } from "../../../pkg/operatorcontroller/steps/checkRequirements.ts";
import { keepContent } from "../../../pkg/operatorcontroller/steps/keepContent.ts";
import { readConfiguration } from "../../../pkg/operatorcontroller/steps/readConfiguration.ts";
import { resolveBundle } from "../../../pkg/operatorcontroller/steps/resolveBundle.ts";
import { installedOf, labelsFrom } from "../../../pkg/operatorcontroller/steps/retrieveReleases.ts";
import { tellProxy } from "../../../pkg/operatorcontroller/steps/tellProxy.ts";
import { inputDigest, pullReference } from "../../../pkg/operatorcontroller/steps/unpackBundle.ts";
import { widensRights } from "../../../pkg/rbac/widening.ts";
import { type ChangePlan, changePlan, countActions, planDigest } from "../../../pkg/release/changePlan.ts";
import { objectKey } from "../../../pkg/release/identity.ts";
import type { ExtensionExists } from "../../../pkg/release/ownership.ts";
import { crdPolicyOf } from "../../../pkg/release/plan.ts";
import { lastDeployed } from "../../../pkg/release/record.ts";
import { determineState } from "../../../pkg/release/state.ts";
import { configNotes } from "../../../pkg/render/configNotes.ts";
import { providerOf } from "../../../pkg/render/providers.ts";
import { faultText } from "../../../pkg/resolve/constraint/constraintFault.ts";
import { constraintsOf } from "../../../pkg/resolve/constraint/constraintsOf.ts";
import { describe } from "../../../pkg/resolve/constraint/describe.ts";
import { isDependency } from "../../../pkg/resolve/dependencies.ts";
import { choose } from "../../../pkg/resolve/resolve.ts";
import { enumerated } from "../../../pkg/resolve/wording.ts";
import type { Logger } from "../../../pkg/telemetry/log.ts";
import type { BundleReader } from "../rbac/bundleReader.ts";
import { readClusterVersion } from "../upgradeCheck/clusterState.ts";
import { contentsFrom } from "./catalogs.ts";
import type { WantedExtension } from "./extensionFile.ts";
import type { Finding, InstallPlan, InstallPlanObject } from "./installPlan.ts";
import { type TriedOut, tryOut } from "./tryOut.ts";

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
  reader: BundleReader;
  /** Chooses who provides the certificates of webhooks, as operator-controller does. */
  providers: CertificateProviders;
  /** Proxy for installed operators. */
  clusterProxy: ClusterProxy;
  systemNamespace: string;
  /** Whether an object that is somebody else's now will have been given to the extension before it is applied; default: none will. */
  willBeGiven?: (live: KubeObject) => boolean;
  /** Gets the objects as they are and as they would be, by `objectKey`. */
  seen?: (tried: Pick<TriedOut, "live" | "after">) => void;
  log: Logger;
  signal: AbortSignal;
}

/** Stands in for the uid of an extension that does not exist: an owner reference needs one. */
const NO_UID = "00000000-0000-0000-0000-000000000000";

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

async function planFrom(request: PlanRequest, facts: PassFacts): Promise<InstallPlan> {
  const { wanted, client, reader, providers } = request;
  const { extension, history, resolved } = facts;
  if (!resolved) throw new Error(`no bundle was found for ClusterExtension ${goQuote(extension.metadata.name)}`);
  const content = await reader.bundle(pullReference(resolved)).catch((err: unknown) => {
    throw wrapError(`bundle ${goQuote(resolved.name)}: `, err);
  });
  facts.content = content;
  await tellProxy.run(facts, { object: extension, log: request.log, signal: request.signal });
  const unmet = await unmetFindings(request, facts);
  const base = lastDeployed(history.current);
  const rendered = renderFor(facts, content, await providers.choose(base?.objects ?? []), proxyOf(facts));
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

async function factsOf(request: PlanRequest): Promise<PassFacts> {
  const { wanted, catalogs, client, clusterProxy, scoped, isServiceAccount, reader, systemNamespace, log, signal } = request;
  const { metadata, spec } = wanted.extension;
  const { uid = NO_UID } = metadata;
  const extension = { ...wanted.extension, metadata: { ...metadata, uid }, spec };
  const facts = newFacts(extension, await clusterVersion(client), clusterProxy);
  facts.history = await new ReleaseStore(client, systemNamespace)
    .history({ name: metadata.name, uid }, { signal })
    .catch((err: unknown) => {
      throw wrapError(`read the releases of ClusterExtension ${goQuote(metadata.name)} in namespace ${goQuote(systemNamespace)}: `, err);
    });
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
    contents: contentsFrom(reader),
    dependencies: { choose: (_, considered) => Promise.resolve({ resolution: choose(considered) }) },
  }).run(facts, { object: extension, log, signal });
  facts.notes.push(...(await dependencyNotes(facts)));
  await keepContent({ record: () => undefined }, new ExtensionMemory()).run(facts, { object: extension, log, signal });
  await readConfiguration({ driftIntervalMs: 0, isServiceAccount }).run(facts, { object: extension, log, signal });
  return facts;
}

/** What the bundle depends on: whether that is met, operator-controller finds out. */
async function dependencyNotes({ extension, resolved }: PassFacts): Promise<string[]> {
  const properties = JSON.parse(resolved?.properties ?? "[]") as Property[];
  if (!resolved || extension.spec.dependencies?.policy === "Ignore" || !properties.some(({ type }) => isDependency(type))) return [];
  const { constraints, faults } = constraintsOf({ name: resolved.name, properties }, await loadCelRules());
  const policy = extension.spec.dependencies?.policy ?? "Require";
  const needs = constraints.map(describe);
  return [
    ...faults.map(faultText),
    ...(needs.length > 0
      ? [`it depends on ${enumerated(needs)}; whether that is met is not looked at here, spec.dependencies.policy is ${policy}`]
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

/** What the bundle requires in vain, where it would be refused for that; where it would not be, the facts' notes say it. */
async function unmetFindings({ client, log, signal }: PlanRequest, facts: PassFacts): Promise<Finding[]> {
  const apis = new ClusterApis({ client, extensions: { get: () => undefined, onEvent: () => undefined }, log });
  const step = checkRequirements({ apis, events: { record: () => undefined }, memory: new ExtensionMemory() });
  try {
    await step.run(facts, { object: facts.extension, log, signal });
    return [];
  } catch (err) {
    signal.throwIfAborted();
    return [{ kind: "requirements", text: messageOf(err) }];
  }
}

/** The objects against the cluster. */
async function compare(
  request: PlanRequest,
  facts: PassFacts,
  { objects: desired, kinds }: PreparedObjects,
  digest: string,
): Promise<{ plan: ChangePlan; refused: ReadonlySet<string> } & Pick<TriedOut, "findings" | "warnings" | "notes">> {
  const { client, isServiceAccount, willBeGiven, log, signal } = request;
  const { extension, history, installed, resolved, hidden, scoped = request.scoped } = facts;
  const { spec, metadata } = extension;
  const applier = new Applier(scoped, log, signal);
  const owner = { name: metadata.name, uid: metadata.uid ?? "", installNamespace: spec.namespace };
  const crdPolicy = crdPolicyOf(spec);
  const pruning: PruneRequest = { history: history.current, desired, crdPolicy, owner };
  const images = [installed, resolved].flatMap((bundle) => (bundle ? [bundle.image] : []));
  const lacking = isServiceAccount
    ? await lackingPermissions(
        scoped,
        {
          extension,
          desired,
          pruned: unwanted(pruning),
          images,
          config: configOf(facts),
          resourceOf: (gvk) => kinds.resourceOf(gvk),
        },
        signal,
      )
    : undefined;
  const released = new Set(lastDeployed(history.current)?.objects.map(objectKey));
  const extensionExists = await otherExtensions(client, signal);
  const advice = `print the exact roles: ${rbacCommand(extension, images, providerOf(desired)?.name, configOf(facts))}`;
  const tried = await tryOut({
    applier,
    client: scoped,
    spec,
    desired,
    kinds,
    released,
    owner,
    extensionExists,
    willBeGiven,
    advice,
    signal,
  });
  const { live, after, refused, findings, warnings, notes } = tried;
  request.seen?.({ live, after });
  if (lacking) {
    const isRefusal = spec.install?.permissions !== "Warn" && !lacking.doubtful;
    if (isRefusal) findings.unshift({ kind: "permissions", text: lacking.text });
    else notes.push(lacking.text);
  }
  const leaving = await leavingObjects(applier, pruning).catch((err: unknown): KubeObject[] => {
    signal.throwIfAborted();
    findings.push({ kind: "read", text: messageOf(err) });
    return [];
  });
  return { plan: changePlan({ digest, desired, live, after, leaving, widens: widensRights, hidden }), refused, findings, warnings, notes };
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

function remarksOn({ extension }: PassFacts, isDeployed: boolean): string[] {
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
