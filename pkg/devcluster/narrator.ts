import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import type { LogLine } from "./installation.ts";

/** Prints a line. */
export type Print = (line: string) => void;

type Style = Parameters<typeof styleText>[0];

const TOPIC_WIDTH = 9;
const QUIET_MS = 150;

/**
 * Log messages to print, with the text for each; other lines are only in the log file. Lines of one
 * server are printed in order.
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

const STYLES: Record<string, Style> = { catalog: "cyan", resolve: "magenta", apply: "yellow", status: "green", error: "red" };

/** Prints what the servers do, based on their logs. */
export class Narrator {
  readonly #print: Print;
  #heardAt = 0;

  constructor(print: Print) {
    this.#print = print;
  }

  /** Prints one line. */
  say(topic: string, message: string): void {
    const label = topic.padEnd(TOPIC_WIDTH);
    const style = STYLES[topic];
    this.#print(`${style ? styleText(style, label) : label} ${message}`);
  }

  /** Prints a heading. */
  part(title: string): void {
    this.#print(`\n${styleText("bold", title)}`);
  }

  /** Prints a server's log line if it is one of the listed messages. */
  hear(line: LogLine): void {
    this.#heardAt = performance.now();
    const story = STORIES.get(line.msg ?? "");
    if (story) this.say(...story(line));
  }

  /**
   * Waits until the servers have logged nothing for a moment, because logs arrive slightly later
   * than writes to the API server.
   */
  async quiet(): Promise<void> {
    const since = performance.now();
    while (performance.now() - Math.max(since, this.#heardAt) < QUIET_MS) await sleep(QUIET_MS / 4);
  }
}

function text(line: LogLine, field: string): string {
  const value = line[field];
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
