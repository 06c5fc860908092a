import { refOf } from "../../api/k8s.ts";
import type { StepContext } from "../../controller/reconcile.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { isCrd, objectKey } from "../../release/identity.ts";
import { uninstallOrder } from "../../release/plan.ts";
import { lastDeployed } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";
import { Applier } from "./applier.ts";
import type { ApplyDependencies } from "./applyDependencies.ts";
import { changes, summary } from "./objectAction.ts";
import { oursOf } from "./ownedObjects.ts";
import { isQuotaRefusal } from "./quotaCheck.ts";
import { removeCrds } from "./removeCrds.ts";

/**
 * Takes away again what a first install has created in this pass, when a quota of the namespace refused the rest: half an operator is of no
 * use, and the namespace has no room for the other half. Whatever else refuses a first install leaves it as it is, to go on from there. A
 * CustomResourceDefinition that is in use by now stays, and so does what is somebody else's by now.
 * @throws RetryableError Retrying with the cause, and with what was removed, or why it could not be.
 */
export async function withdrawRefused(
  deps: Pick<ApplyDependencies, "events">,
  { failed, history, scoped, extension }: PassFacts,
  { log, signal }: StepContext<PassFacts["extension"]>,
  cause: unknown,
): Promise<void> {
  if (!failed || !scoped || lastDeployed(history.current) || signal.aborted || !isQuotaRefusal(cause)) return;
  const created = new Set(failed.actions.filter(({ verb }) => verb === "created").map(({ ref }) => objectKey(ref)));
  if (created.size === 0) return;
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: extension.spec.namespace };
  const applier = new Applier(scoped, log, signal);
  const written = uninstallOrder(failed.release.objects.filter((object) => created.has(objectKey(object))));
  let outcome: string;
  try {
    const live = await applier.read(written.map(refOf));
    const ours = oursOf(written, live, owner);
    await applier.remove(ours.filter((object) => !isCrd(object)));
    const { kept } = await removeCrds(applier, scoped, ours.filter(isCrd), "DeleteIfUnused", signal);
    const stays = kept.length === 0 ? "" : `; kept: ${kept.map(({ text }) => text).join("; ")}`;
    outcome = `what had been created was removed again: ${summary(changes(applier.actions))}${stays}`;
  } catch (err) {
    signal.throwIfAborted();
    outcome = `removing again what had been created failed as well: ${messageOf(err)}`;
  }
  deps.events.record(extension, "Warning", "InstallUndone", `install did not fit into a quota; ${outcome}`);
  const advice = "with the right to list resourcequotas in its namespace the ServiceAccount finds that out before anything is written";
  throw new RetryableError("Retrying", `${messageOf(cause)}; ${outcome}; ${advice}`, { cause });
}
