import { ANNOTATION_ROLLBACK_TO, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../../../pkg/api/constants.ts";
import { CAUSE_LENGTH, truncate } from "../../../pkg/text/truncate.ts";
import { messageOf, wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { isApproved } from "../../../pkg/operatorcontroller/apply/approval.ts";
import { prepareFor, renderFor } from "../../../pkg/operatorcontroller/apply/preparedObjects.ts";
import { contentOf } from "../../../pkg/operatorcontroller/bundleContent.ts";
import { hideInError, revealNamespaces } from "../../../pkg/operatorcontroller/configuration/hiding.ts";
import { configOf, type PassFacts, type ResolvedBundle } from "../../../pkg/operatorcontroller/facts.ts";
import { ExtensionMemory } from "../../../pkg/operatorcontroller/memory.ts";
import { proxyOf } from "../../../pkg/operatorcontroller/proxy/passProxy.ts";
import { ClusterApis } from "../../../pkg/operatorcontroller/served/clusterApis.ts";
import { checkRequirements } from "../../../pkg/operatorcontroller/steps/checkRequirements.ts";
import { labelsFrom } from "../../../pkg/operatorcontroller/steps/retrieveReleases.ts";
import { tellProxy } from "../../../pkg/operatorcontroller/steps/tellProxy.ts";
import { inputDigest, pullReference } from "../../../pkg/operatorcontroller/steps/unpackBundle.ts";
import { type ChangePlan, countActions, planDigest } from "../../../pkg/release/changePlan.ts";
import { objectKey } from "../../../pkg/release/identity.ts";
import { lastDeployed } from "../../../pkg/release/record.ts";
import { determineState } from "../../../pkg/release/state.ts";
import { configNotes } from "../../../pkg/render/configNotes.ts";
import { silenceReason } from "../../../pkg/resolve/explain.ts";
import { compare } from "./compare.ts";
import type { Finding, InstallPlan, InstallPlanObject } from "./installPlan.ts";
import { factsOf } from "./planFacts.ts";
import type { PlanRequest } from "./planRequest.ts";

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
  const bundle = await reader.bundle(pullReference(resolved)).catch((err: unknown) => {
    throw wrapError(`bundle ${goQuote(resolved.name)}: `, err);
  });
  facts.content = contentOf(bundle);
  await tellProxy.run(facts, { object: extension, log: request.log, signal: request.signal });
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
      .map((one) => ({ catalog: one.name, because: truncate(silenceReason(one), CAUSE_LENGTH) })),
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
