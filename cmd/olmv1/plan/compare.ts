import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { Applier } from "../../../pkg/operatorcontroller/apply/applier.ts";
import { requireConversions, upgradeConversions } from "../../../pkg/operatorcontroller/apply/lostConversions.ts";
import { type PreparedObjects } from "../../../pkg/operatorcontroller/apply/preparedObjects.ts";
import { leavingCrds, leavingObjects, type PruneRequest, removals } from "../../../pkg/operatorcontroller/apply/prune.ts";
import { configOf, type PassFacts } from "../../../pkg/operatorcontroller/facts.ts";
import { type LackingPermissions, lackingPermissions } from "../../../pkg/operatorcontroller/rights/permissions.ts";
import { rbacCommand } from "../../../pkg/operatorcontroller/rights/rbacCommand.ts";
import { WaitingError } from "../../../pkg/operatorcontroller/waiting.ts";
import type { ResourceOf } from "../../../pkg/rbac/resources.ts";
import { widensRights } from "../../../pkg/rbac/ruleSets.ts";
import { type ChangePlan, changePlan } from "../../../pkg/release/changePlan.ts";
import { objectKey } from "../../../pkg/release/identity.ts";
import type { ExtensionExists } from "../../../pkg/release/ownership.ts";
import { crdPolicyOf } from "../../../pkg/release/plan.ts";
import { lastDeployed } from "../../../pkg/release/record.ts";
import { providerOf } from "../../../pkg/certificates/providers.ts";
import type { PlanRequest } from "./planRequest.ts";
import { type TriedOut, tryOut } from "./tryOut.ts";

/** The objects against the cluster. */
export async function compare(
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
  const lackingOf = (identity: Client): Promise<LackingPermissions | undefined> => {
    const resourceOf: ResourceOf = (gvk) => kinds.resourceOf(gvk);
    const permissions = { extension, desired, pruned: removals(pruning), images, config: configOf(facts), resourceOf };
    return lackingPermissions(identity, permissions, signal);
  };
  const lacking = isServiceAccount ? await lackingOf(scoped) : undefined;
  request.account?.tell(await lackingOf(request.account.client));
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
  // As operator-controller checks it before it writes. An unknown answer is not reported again: the reads above have reported why.
  if (history.current.length > 0) {
    const kept = await leavingCrds(applier, pruning)
      .then((crds) => requireConversions(scoped, upgradeConversions(extension, crds), signal))
      .catch((err: unknown) => err);
    signal.throwIfAborted();
    if (kept instanceof WaitingError) findings.push({ kind: "conversion", text: messageOf(kept) });
    else if (kept !== undefined && !findings.some(({ kind }) => kind === "read")) findings.push({ kind: "read", text: messageOf(kept) });
  }
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
