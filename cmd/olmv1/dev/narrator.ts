import { styleText } from "node:util";
import type { LogLine } from "../../../pkg/devcluster/serverProcess.ts";

/** Where lines go. */
export type Print = (line: string) => void;

type Style = Parameters<typeof styleText>[0];

const TOPIC_WIDTH = 9;

/**
 * Log messages that are a story to a person, with what to say about each; every other line stays in the log file.
 * One server's lines are told in the order in which it wrote them.
 */
const STORIES: ReadonlyMap<string, (line: LogLine) => [topic: string, text: string]> = new Map([
  ["catalog resolved", (line) => ["catalog", `${text(line, "catalog")}: image ${text(line, "image")} → ${text(line, "digest")}`]],
  [
    "catalog stored",
    (line) => [
      "catalog",
      `${text(line, "catalog")}: ${count(line, "packages")}, ${count(line, "channels")}, ${count(line, "bundles")}, ${count(line, "deprecations")}`,
    ],
  ],
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

/** Tells a person what the servers do, from what they log. */
export class Narrator {
  readonly #print: Print;

  constructor(print: Print) {
    this.#print = print;
  }

  /** Says one line of its own. */
  say(topic: string, message: string): void {
    const label = topic.padEnd(TOPIC_WIDTH);
    const style = STYLES[topic];
    this.#print(`${style ? styleText(style, label) : label} ${message}`);
  }

  /** A heading. */
  part(title: string): void {
    this.#print(`\n${styleText("bold", title)}`);
  }

  /** Tells a server's log line if it is a story. */
  hear(line: LogLine): void {
    const story = STORIES.get(line.msg ?? "");
    if (story) this.say(...story(line));
  }
}

function text(line: LogLine, field: string): string {
  const value = line[field];
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function count(line: LogLine, field: string): string {
  const value = Number(line[field] ?? 0);
  return `${value} ${value === 1 ? field.replace(/s$/, "") : field}`;
}
