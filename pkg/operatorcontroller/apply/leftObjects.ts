import type { KubeObject } from "../../api/k8s.ts";
import { isCrd } from "../../release/identity.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { either } from "../waiting.ts";
import type { PassObjects } from "./passObjects.ts";
import { asObject, oursOf } from "./prune.ts";
import { removeCrds } from "./removeCrds.ts";

/**
 * Deletes what earlier releases left for other extensions, once none of them wants it any more. What one of them has taken by now is not touched.
 * @throws RetryableError Retrying with every refused deletion.
 */
export async function pruneLeft(deployed: ReleaseRecord, pass: PassObjects): Promise<void> {
  const { applier, scoped, facts, owner, context, deps } = pass;
  const remembered = deps.memory.of(facts.extension);
  const left = (deployed.left ?? []).map(asObject);
  if (left.length === 0 || remembered.clearedOf === deployed.version) return;
  await pass.claiming(left, async () => {
    const ours = oursOf(left, await applier.read(deployed.left ?? []), owner);
    const going = ours.filter((object) => !isWanted(object, pass));
    await applier.remove(going.filter((object) => !isCrd(object)));
    const { kept } = await removeCrds(applier, scoped, going.filter(isCrd), crdPolicyOf(facts.extension.spec), context.signal);
    for (const { text } of kept) deps.events.record(facts.extension, "Normal", "Kept", text);
    if (going.length === ours.length) remembered.clearedOf = deployed.version;
  });
  watchLeft(deployed, pass);
}

/** Lets a pass follow when something that was left may be deleted, or has been taken. */
export function watchLeft(deployed: ReleaseRecord, pass: PassObjects): void {
  const { facts, deps, owner } = pass;
  const left = (deployed.left ?? []).map(asObject);
  if (left.length === 0 || deps.memory.of(facts.extension).clearedOf === deployed.version) return;
  const { handovers } = deps;
  const isOver = (): Promise<boolean> =>
    Promise.resolve(left.some((object) => !isWanted(object, pass) || handovers.isSettledOn(owner.name, object)));
  facts.awaits = either(facts.awaits, isOver);
}

function isWanted(object: KubeObject, { deps, owner }: PassObjects): boolean {
  return deps.handovers.isWanted(owner.name, object);
}
