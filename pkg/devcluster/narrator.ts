import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import type { LogLine } from "./installation.ts";

/** Writes text. */
export type Print = (line: string) => void;

type Style = Parameters<typeof styleText>[0];

const TOPIC_WIDTH = 9;
const QUIET_MS = 150;
/** Waits shorter than this are not shown. */
const SHORT_WAIT_MS = 1_000;
/** Interval of progress lines if lines cannot be replaced, as in a CI log. */
const LINE_INTERVAL_MS = 15_000;
const CLEAR_LINE = "\r\u001B[K";

/**
 * Log messages to print, with a function that returns the text for each. Other lines are only in the log file. Lines of one server are printed in
 * order.
 */
const STORIES: ReadonlyMap<string, (line: LogLine) => [topic: string, text: string]> = new Map([
  [
    "bundle resolved",
    (line) => ["resolve", `${text(line, "explanation")}${line["edge"] === undefined ? "" : ` [upgrade edge: ${text(line, "edge")}]`}`],
  ],
  ["object applied", (line) => ["apply", `${text(line, "verb").padEnd(9)} ${text(line, "target")}`]],
  ["object deleted", (line) => ["apply", `${"deleted".padEnd(9)} ${text(line, "target")}`]],
  ["custom resource definition kept", (line) => ["apply", `${"kept".padEnd(9)} ${text(line, "kept")}`]],
  [
    "condition changed",
    (line) => [
      "status",
      `${text(line, "object")}: ${text(line, "condition")}=${text(line, "status")} ${text(line, "reason")}: ${text(line, "message")}`,
    ],
  ],
  ["extension removed", (line) => ["status", `${text(line, "object")}: removed`]],
]);

/** Formats milliseconds, such as "3.2 s" or "5 min 12 s". */
export function formatElapsed(ms: number): string {
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const STYLES: Record<string, Style> = { catalog: "cyan", resolve: "magenta", apply: "yellow", status: "green", error: "red" };

/** Prints what the servers do, based on their logs, and the progress of long operations. */
export class Narrator {
  readonly #write: Print;
  readonly #canReplace: boolean;
  #heardAt = 0;
  #lastHeard = "";
  #hasProgress = false;
  #progressAt = Number.NEGATIVE_INFINITY;

  /** @param write writes text as it is. @param canReplace whether the output is a terminal, where a progress line can be replaced. */
  constructor(write: Print, canReplace = false) {
    this.#write = write;
    this.#canReplace = canReplace;
  }

  /** Prints one line. */
  print(topic: string, message: string): void {
    const label = topic.padEnd(TOPIC_WIDTH);
    const style = STYLES[topic];
    this.#print(`${style ? styleText(style, label) : label} ${message}`);
  }

  /** Prints a heading. */
  part(title: string): void {
    this.#print(`\n${styleText("bold", title)}`);
  }

  /** Runs a stage: prints its heading, and afterwards how long it took. */
  async stage<T>(title: string, work: () => Promise<T>): Promise<T> {
    this.part(title);
    const began = performance.now();
    const result = await work();
    await this.quiet();
    this.print("done", `after ${formatElapsed(performance.now() - began)}`);
    return result;
  }

  /** Shows a line that the next line replaces. If lines cannot be replaced, prints it. */
  progress(topic: string, message: string): void {
    if (!this.#canReplace) return this.print(topic, message);
    this.#clear();
    this.#write(`${topic.padEnd(TOPIC_WIDTH)} ${message}`);
    this.#hasProgress = true;
  }

  /**
   * Shows that the caller is still waiting. Can be called at each poll, because it limits how often it prints.
   * @param elapsedMs time since the wait began.
   */
  waiting(message: string, elapsedMs: number): void {
    const interval = this.#canReplace ? SHORT_WAIT_MS : LINE_INTERVAL_MS;
    const now = performance.now();
    if (elapsedMs < interval || now - this.#progressAt < interval) return;
    this.#progressAt = now;
    this.progress("wait", `${message} (${formatElapsed(elapsedMs)})`);
  }

  /** Prints a server's log line if it is one of the listed messages. */
  hear(line: LogLine): void {
    this.#heardAt = performance.now();
    const story = STORIES.get(line.msg ?? "");
    if (!story) return;
    const [topic, message] = story(line);
    // The controller logs a resolution again when a conflict makes it retry.
    if (message === this.#lastHeard) return;
    this.#lastHeard = message;
    this.print(topic, message);
  }

  /**
   * Waits until the servers have logged nothing for a moment, because logs arrive slightly later
   * than writes to the API server.
   */
  async quiet(): Promise<void> {
    const since = performance.now();
    while (performance.now() - Math.max(since, this.#heardAt) < QUIET_MS) await sleep(QUIET_MS / 4);
  }

  #print(line: string): void {
    this.#clear();
    this.#write(`${line}\n`);
  }

  #clear(): void {
    if (this.#hasProgress) this.#write(CLEAR_LINE);
    this.#hasProgress = false;
  }
}

function text(line: LogLine, field: string): string {
  const value = line[field];
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
