import { mapInParallel } from "../../../../pkg/async/concurrency.ts";
import { getErrorMessage } from "../../../../pkg/errors/errors.ts";
import type { Mood } from "../../../../pkg/rollout/mood.ts";
import { EXIT } from "../../cli/errors.ts";
import { type Output, print } from "../../cli/output.ts";
import { formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** The result of one item. */
export interface BatchLine {
  readonly namespace: string;
  readonly name: string;
  /** A stable word for scripts. */
  readonly result: string;
  /** The reason or the changes in one line; may be empty. */
  readonly detail: string;
  /** done: completed; ready: can be done; passed: nothing to do; left: cannot be done; failed: an error occurred. */
  readonly kind: "done" | "ready" | "passed" | "left" | "failed";
}

/** The result of an item without its name. */
type ItemResult = Omit<BatchLine, "namespace" | "name">;

const NOT_TRIED: ItemResult = { result: "NotTried", detail: "", kind: "left" };

/** The results of a batch, and the reason if it was interrupted. */
export interface Batch {
  readonly lines: readonly BatchLine[];
  readonly interrupted?: unknown;
}

/** An item of a batch. */
export interface BatchItem {
  readonly namespace: string;
  readonly name: string;
  /** Names of an item that consists of several objects. Each gets a line. */
  readonly names?: readonly string[];
}

const MOODS: Readonly<Record<BatchLine["kind"], Mood>> = { done: "good", ready: "good", passed: "faint", left: "warning", failed: "bad" };
const HEAD = ["NAMESPACE", "SUBSCRIPTION", "RESULT", "DETAIL"];

/**
 * Runs `work` for all items, started in order, at most `parallel` at once. After an interruption and, unless `keepGoing` is set, after a failure, starts
 * no other item, and waits for those in progress.
 * @param work returns the result of an item, or one for each of its names.
 * @returns the lines in the order of the items
 */
export async function runBatch<Item extends BatchItem>(
  items: readonly Item[],
  { keepGoing, signal, parallel = 1 }: { keepGoing: boolean; signal: AbortSignal; parallel?: number },
  work: (item: Item, at: number) => Promise<ItemResult | readonly ItemResult[]>,
): Promise<Batch> {
  let isOver = false;
  let interrupted: unknown;
  const run = async (item: Item, at: number): Promise<readonly ItemResult[]> => {
    try {
      signal.throwIfAborted();
      return [await work(item, at)].flat();
    } catch (err) {
      if (!signal.aborted) return [{ result: "Failed", detail: getErrorMessage(err), kind: "failed" }];
      interrupted = err;
      return [{ result: "Interrupted", detail: "", kind: "left" }];
    }
  };
  const lines = await mapInParallel([...items.entries()], parallel, async ([at, item]): Promise<BatchLine[]> => {
    const { namespace, name, names = [name] } = item;
    const results = isOver ? names.map(() => NOT_TRIED) : await run(item, at);
    if (interrupted !== undefined || (!keepGoing && results.some(({ kind }) => kind === "failed"))) isOver = true;
    return names.map((one, i) => ({ namespace, name: one, ...(results[i] ?? { ...results[0]!, detail: `with ${names[0]}` }) }));
  });
  return { lines: lines.flat(), ...(interrupted === undefined ? {} : { interrupted }) };
}

/** Formats a table of all results, the failures in full, and the number of each result. */
export function formatBatch(terminal: Pick<Terminal, "width" | "colour">, lines: readonly BatchLine[], next: string): string {
  if (lines.length === 0) return "no Subscriptions found\n";
  const rows = lines.map(({ namespace, name, result, detail, kind }) => [namespace, name, { text: result, mood: MOODS[kind] }, detail]);
  const counts = new Map<string, number>();
  for (const { result } of lines) counts.set(result, (counts.get(result) ?? 0) + 1);
  const failed = lines.filter(({ kind }) => kind === "failed").map(({ namespace, name, detail }) => `\n${namespace}/${name}: ${detail}\n`);
  return `${formatTable(terminal, HEAD, rows)}${failed.join("")}\n${[...counts].map(([result, count]) => `${count} ${result}`).join(", ")}\n${next}`;
}

/**
 * Prints a batch. The exit code is 1 if an item is left or failed.
 * @param next the next step, for the text format; may be empty.
 * @throws the reason if the batch was interrupted.
 */
export async function showBatch(terminal: Terminal, output: Output, { lines, interrupted }: Batch, next: string): Promise<void> {
  await print(terminal, output, {
    data: {
      items: lines.map(({ namespace, name, result, detail }) => ({
        namespace,
        subscription: name,
        result,
        ...(detail === "" ? {} : { detail }),
      })),
    },
    text: () => formatBatch(terminal, lines, next),
  });
  if (interrupted !== undefined) throw interrupted;
  if (lines.some(({ kind }) => kind === "left" || kind === "failed")) terminal.exit(EXIT.no);
}

/** @throws Error unless either a name or --all is given. */
export function requireOneOrAll(command: string, name: string | undefined, all: boolean | undefined): void {
  if ((name === undefined) === (all !== true)) throw new Error(`use either a name or --all, such as olmv1 migrate ${command} --all`);
}
