import { type KubeObject, refOf } from "../api/k8s.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isInvalid, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/**
 * What a step tells the loop: go on (undefined), or stop here and come back in `requeueAfterMs` if that is given. `isPending` when work outside of
 * the pass has not ended yet: the pass neither succeeded nor failed.
 */
export type StepResult = { requeueAfterMs?: number; isPending?: boolean } | undefined;

/** What every step gets. The object is read-only: facts go into the state, status is made from them afterwards. */
export interface StepContext<O> {
  readonly object: Readonly<O>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One named stage of a reconcile. It reads and extends `state`; the name appears in logs. */
export interface Step<O, S> {
  readonly name: string;
  run(state: S, ctx: StepContext<O>): Promise<StepResult>;
}

/** A step's failure; `cause` is what it threw, which conditions show, while this text with the step's name is for logs. */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super(`${step}: ${messageOf(cause)}`, { cause });
    this.step = step;
  }
}

/** What the step threw, for an error of `runSteps`; any other error unchanged. */
export function withoutStep(err: unknown): unknown {
  return err instanceof StepError ? err.cause : err;
}

/**
 * Runs steps in order until one stops the run or throws.
 * @throws StepError around what a step threw; the signal's reason when it aborts between steps.
 */
export async function runSteps<O, S>(steps: readonly Step<O, S>[], state: S, ctx: StepContext<O>): Promise<StepResult> {
  for (const step of steps) {
    ctx.signal.throwIfAborted();
    try {
      const result = await step.run(state, { ...ctx, log: ctx.log.child({ step: step.name }) });
      if (result) return result;
    } catch (err) {
      throw new StepError(step.name, err);
    }
  }
  return undefined;
}

/**
 * Replaces the status of an object, if it is still the one that was read and not one made anew under its name.
 * A merge patch would not do: of the metadata in a patch of a status the API server takes nothing, not even the uid as a condition.
 * @returns the object as it is now; undefined when it is another one, or gone.
 * @throws KubeError when the status is refused.
 */
export async function replaceStatus(
  client: Pick<Client, "get" | "patch">,
  object: Readonly<KubeObject>,
  status: object,
): Promise<KubeObject | undefined> {
  const ref = refOf(object);
  const body = [
    { op: "test", path: "/metadata/uid", value: object.metadata.uid },
    { op: "add", path: "/status", value: status },
  ];
  try {
    return await client.patch(ref, body, { type: "json", subresource: "status" });
  } catch (err) {
    if (isNotFound(err)) return undefined;
    if (!isInvalid(err)) throw err;
    const live = await client.get(ref, { metadataOnly: true });
    if (live?.metadata.uid === object.metadata.uid) throw err;
    return undefined;
  }
}
