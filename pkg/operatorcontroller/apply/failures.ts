import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { isNamespaceMissing } from "../../kube/errors.ts";
import { describeObject } from "../../release/identity.ts";
import { isImmutableField, isRecreated } from "./recreate.ts";

/** Requests under way at once for one extension; enough to hide round trips, few enough to be fair to others. */
const PARALLEL = 8;

/** A request about one object that was refused, or failed. */
export interface Failure {
  readonly item: KubeObject | ObjectRef;
  readonly err: unknown;
}

/**
 * The failures of `run` among items that it is called for side by side, in the order of the items; no failure stops the others.
 * @throws what `signal` aborts with.
 */
export async function failuresOf<T extends KubeObject | ObjectRef>(
  items: readonly T[],
  signal: AbortSignal,
  run: (item: T) => Promise<void>,
): Promise<Failure[]> {
  const failures = await mapInParallel(items, PARALLEL, async (item): Promise<Failure[]> => {
    signal.throwIfAborted();
    try {
      await run(item);
      return [];
    } catch (err) {
      return [{ item, err }];
    }
  });
  signal.throwIfAborted();
  return failures.flat();
}

/** Which object, what the API server says about it, and what to do. */
export function failureText({ item, err }: Failure): string {
  return `${describeObject(item)}: ${messageOf(err)}${adviceFor(item, err)}`;
}

/** A sentence for one failure; for several all of them in Helm's form ("N errors occurred:"). @param doing what each begins with. */
export function failuresText(doing: string, failures: readonly Failure[]): string {
  const lines = failures.map((failure) => `${doing}${failureText(failure)}`);
  return lines.length === 1 ? String(lines[0]) : `${lines.length} errors occurred:\n${lines.map((line) => `\t* ${line}\n`).join("")}\n`;
}

/**
 * Throws one error for all failures, if there are any.
 * @throws RetryableError Retrying also for terminal answers: rights, quotas and policies change without an edit of the extension.
 */
export function throwFailures(doing: string, failures: readonly Failure[]): void {
  const [first] = failures;
  if (first) throw new RetryableError("Retrying", failuresText(doing, failures), { cause: first.err });
}

function adviceFor(item: KubeObject | ObjectRef, err: unknown): string {
  if (isNamespaceMissing(err)) return "; create the namespace, or take it out of the extension's configuration";
  if (!isImmutableField(err)) return "";
  const why = isRecreated(item) ? "since it carries no mark of this extension" : "since something could be lost with it";
  return `; a ${item.kind} is not created anew by itself, ${why}: delete it, and it is`;
}
