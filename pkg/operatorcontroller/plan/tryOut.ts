import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type GroupVersionKind, groupOf, type KubeObject, refOf } from "../../api/k8s.ts";
import { losesConversion } from "../../certificates/caBundle.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import type { ApiResource } from "../../kube/discovery.ts";
import { isNamespaceMissing } from "../../kube/errors.ts";
import { describeObject, isCrd, objectKey } from "../../release/identity.ts";
import { inLiveOrder } from "../../release/liveOrder.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import { type Applier, type Failure, failureText } from "../apply/applier.ts";
import { DryRun } from "../apply/dryRun.ts";
import { foreignObjects, kindConflicts, missingNamespaces, missingNamespaceText, quotaRefusals } from "../apply/preflight.ts";
import { kindsOf, type ServedKinds } from "../apply/preparedObjects.ts";
import { checkCrdUpgrades } from "../crds/crdUpgrades.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { Finding, InstallPlanWarning } from "./installPlan.ts";

/** Objects that are tried out, and for whom. */
export interface TryRequest {
  applier: Applier;
  /** The identity that would apply them. */
  client: Client;
  spec: ClusterExtension["spec"];
  /** Prepared objects. */
  desired: readonly KubeObject[];
  kinds: ServedKinds;
  /** Keys of what the deployed release holds: that needs no proof that it is the extension's. */
  released: ReadonlySet<string>;
  owner: Owner;
  extensionExists: ExtensionExists;
  /** Whether an object that is somebody else's now will have been given to the owner by then. */
  willBeGiven?: ((live: KubeObject) => boolean) | undefined;
  /** How to get a right that turns out to be needed only now. */
  advice: string;
  signal: AbortSignal;
}

/** Objects as they are and as they would be, and what stands against it. */
export interface TriedOut {
  live: LiveObjects;
  after: LiveObjects;
  /** Keys of the objects of which it is not known how they would be, since a finding is about them. */
  refused: Set<string>;
  findings: Finding[];
  warnings: InstallPlanWarning[];
  notes: string[];
}

/** Asks all that `preflight` asks, goes on after refusals, and writes nothing. */
export async function tryOut(request: TryRequest): Promise<TriedOut> {
  const { applier, client, spec, desired, kinds, released, owner, extensionExists, willBeGiven, signal } = request;
  const findings: Finding[] = [];
  const notes: string[] = [];
  tellUnserved(desired, kinds.unserved, findings, notes);
  const served = desired.filter((object) => kinds.resourceOf(object) !== undefined);
  const { objects: live, failures: unread } = await applier.readEach(served.map(refOf));
  findings.push(...unread.map((failure): Finding => ({ kind: "read", text: `could not get object: ${failureText(failure)}` })));
  const refused = new Set(unread.map(({ item }) => objectKey(item)));
  for (const { object, message } of foreignObjects({ desired: served, live, owner, extensionExists, released })) {
    const there = live.get(objectKey(object));
    if (there && willBeGiven?.(there)) continue;
    findings.push({ kind: "ownership", text: message });
    refused.add(objectKey(object));
  }
  for (const text of await kindConflicts(request.client, { desired, live, owner, extensionExists }, request.signal))
    findings.push({ kind: "ownership", text });
  const dropped = await checkCrds(request, live, findings, notes);
  const tried = served.filter(
    (object) =>
      !refused.has(objectKey(object)) && !dropped.has(object.metadata.name) && !losesConversion(object, live.get(objectKey(object))),
  );
  const dryRun = new DryRun(client, signal);
  const { objects: after, failures } = await dryRun.each(tried.map((object) => asGiven(object, live, willBeGiven)));
  for (const { item } of failures) refused.add(objectKey(item));
  findings.push(...refusals(failures, spec));
  const resourceOf = (gvk: GroupVersionKind): ApiResource | undefined => kinds.resourceOf(gvk);
  const exceeded = failures.length > 0 ? [] : await quotaRefusals(client, { desired: tried, live, resourceOf }, signal);
  findings.push(...exceeded.map((text): Finding => ({ kind: "quota", text })));
  const warnings = dryRun.warnings.map(({ text, refs }) => ({ text, objects: refs.map(describeObject) }));
  return { live, after, refused, findings, warnings, notes };
}

/** What is given is applied in the order that its lists have: no Pod restarts for that. */
function asGiven(object: KubeObject, live: LiveObjects, willBeGiven: TryRequest["willBeGiven"]): KubeObject {
  const there = live.get(objectKey(object));
  return there && willBeGiven?.(there) ? inLiveOrder(object, there) : object;
}

/** A kind that the same plan brings along is only not served yet; of the others it is not known that they ever will be. */
function tellUnserved(desired: readonly KubeObject[], unserved: readonly KubeObject[], findings: Finding[], notes: string[]): void {
  const brought = new Set(desired.filter(isCrd).flatMap(kindsIn));
  const coming = unserved.filter((object) => brought.has(`${object.apiVersion}/${object.kind}`));
  const unknown = unserved.filter((object) => !coming.includes(object));
  if (coming.length > 0)
    notes.push(
      `this cluster does not serve ${kindsOf(coming)} yet, whose CustomResourceDefinition is part of the bundle: its objects could not be tried; operator-controller writes nothing before the cluster serves it, so that definition has to be applied first`,
    );
  if (unknown.length > 0)
    findings.push({ kind: "kindNotServed", text: `this cluster does not serve ${kindsOf(unknown)}: install what brings it first` });
}

/** The apiVersion and kind of everything that a definition defines. */
function kindsIn(crd: KubeObject): string[] {
  const {
    group = "",
    names,
    versions = [],
  } = (crd["spec"] ?? {}) as {
    group?: string;
    names?: { kind?: string };
    versions?: { name?: string }[];
  };
  return versions.map(({ name }) => `${group}/${name}/${names?.kind}`);
}

/** @returns names of the definitions that would be refused only because a version that nothing is stored in is still told as stored. */
async function checkCrds(request: TryRequest, live: LiveObjects, findings: Finding[], notes: string[]): Promise<Set<string>> {
  const { client, desired, spec, advice, signal } = request;
  const dropped = new Set<string>();
  const onlyTrying: Pick<Client, "list" | "listPage" | "patch" | "raw"> = {
    list: (gvk, options) => client.list(gvk, options),
    listPage: (gvk, options) => client.listPage(gvk, options),
    raw: (method, path, body, options) => client.raw(method, path, body, options),
    patch: (ref, body, options) => {
      if (groupOf(ref.apiVersion) === "apiextensions.k8s.io") dropped.add(ref.name);
      return client.patch(ref, body, { ...options, dryRun: true });
    },
  };
  try {
    const texts = await checkCrdUpgrades(onlyTrying, { desired, live, spec, advice }, signal);
    notes.push(...texts.map((text) => (dropped.size > 0 ? `only tried: ${text}` : text)));
  } catch (err) {
    signal.throwIfAborted();
    findings.push({ kind: "crdUpgrade", text: messageOf(err) });
  }
  return dropped;
}

/** A namespace that does not exist is told once, not for each of its objects. */
function refusals(failures: readonly Failure[], spec: TryRequest["spec"]): Finding[] {
  return [
    ...missingNamespaces(failures).map((missing) => ({ kind: "namespace", text: missingNamespaceText(missing, spec) }) as const),
    ...failures.filter(({ err }) => !isNamespaceMissing(err)).map((failure) => ({ kind: "dryRun", text: failureText(failure) }) as const),
  ];
}
