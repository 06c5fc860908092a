import { messageOf } from "../../../../pkg/errors/errors.ts";
import { EXIT } from "../../cli/errors.ts";
import { type Output, print } from "../../cli/output.ts";
import { type Mood, table } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** One of many, and what came of it. */
export interface BatchLine {
  readonly namespace: string;
  readonly name: string;
  /** A word that scripts can rely on. */
  readonly result: string;
  /** In a line why, or what was done; empty where there is nothing to say. */
  readonly detail: string;
  /** done: as it should be; ready: it can be done; passed: nothing was to be done; left: it cannot be done; failed: it did not come right. */
  readonly kind: "done" | "ready" | "passed" | "left" | "failed";
}

/** What a batch came to, and what it ended with where somebody interrupted it. */
export interface Batch {
  readonly lines: readonly BatchLine[];
  readonly interrupted?: unknown;
}

/** What is done with a batch. */
export interface BatchItem {
  readonly namespace: string;
  readonly name: string;
}

const MOODS: Readonly<Record<BatchLine["kind"], Mood>> = { done: "good", ready: "good", passed: "faint", left: "warning", failed: "bad" };
const HEAD = ["NAMESPACE", "SUBSCRIPTION", "RESULT", "DETAIL"];

/**
 * Does `work` with one after another. What throws has failed, and those after it are not tried, unless `keepGoing`; an interruption ends it at once.
 * @param work what came of one.
 */
export async function oneByOne<Item extends BatchItem>(
  items: readonly Item[],
  { keepGoing, signal }: { keepGoing: boolean; signal: AbortSignal },
  work: (item: Item, at: number) => Promise<Omit<BatchLine, "namespace" | "name">>,
): Promise<Batch> {
  const lines: BatchLine[] = [];
  let isOver = false;
  let interrupted: unknown;
  for (const [at, item] of items.entries()) {
    const { namespace, name } = item;
    if (isOver) {
      lines.push({ namespace, name, result: "NotTried", detail: "", kind: "left" });
      continue;
    }
    try {
      signal.throwIfAborted();
      lines.push({ namespace, name, ...(await work(item, at)) });
    } catch (err) {
      if (signal.aborted) interrupted = err;
      const failed = { result: "Failed", detail: messageOf(err), kind: "failed" } as const;
      lines.push({ namespace, name, ...(signal.aborted ? ({ result: "Interrupted", detail: "", kind: "left" } as const) : failed) });
    }
    isOver = interrupted !== undefined || (lines.at(-1)?.kind === "failed" && !keepGoing);
  }
  return { lines, ...(interrupted === undefined ? {} : { interrupted }) };
}

/** A table of all, what failed in full, and how many came to what. */
export function batchText(terminal: Pick<Terminal, "width" | "colour">, lines: readonly BatchLine[], next: string): string {
  if (lines.length === 0) return "there are none\n";
  const rows = lines.map(({ namespace, name, result, detail, kind }) => [namespace, name, { text: result, mood: MOODS[kind] }, detail]);
  const counts = new Map<string, number>();
  for (const { result } of lines) counts.set(result, (counts.get(result) ?? 0) + 1);
  const failed = lines.filter(({ kind }) => kind === "failed").map(({ namespace, name, detail }) => `\n${namespace}/${name}: ${detail}\n`);
  return `${table(terminal, HEAD, rows)}${failed.join("")}\n${[...counts].map(([result, count]) => `${count} ${result}`).join(", ")}\n${next}`;
}

/**
 * Prints a batch; afterwards the command ends with 1 where one of them is left or failed.
 * @param next what to do now, for people; empty where there is nothing.
 * @throws what interrupted it.
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
    text: () => batchText(terminal, lines, next),
  });
  if (interrupted !== undefined) throw interrupted;
  if (lines.some(({ kind }) => kind === "left" || kind === "failed")) terminal.exit(EXIT.no);
}

/** @throws Error unless either one is named or all are meant. */
export function requireOneOrAll(command: string, name: string | undefined, all: boolean | undefined): void {
  if ((name === undefined) === (all !== true))
    throw new Error(`${name === undefined ? "which one? Give" : "give either"} its name or --all, such as olmv1 migrate ${command} --all`);
}
