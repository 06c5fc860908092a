import { styleText } from "node:util";
import { printable } from "../errors/printable.ts";

const LEVELS: ReadonlyMap<number, [name: string, colour: "gray" | "green" | "yellow" | "red"]> = new Map([
  [10, ["TRACE", "gray"]],
  [20, ["DEBUG", "gray"]],
  [30, ["INFO", "green"]],
  [40, ["WARN", "yellow"]],
  [50, ["ERROR", "red"]],
  [60, ["FATAL", "red"]],
]);
const SHOWN = new Set(["level", "time", "msg", "component", "pid", "hostname", "err"]);

/**
 * One JSON log line as a person reads it: time, level, component, message, then the fields as key=value. Values
 * stay on the line, whatever is in them; other text is returned as it is.
 */
export function prettyLine(line: string, colour: boolean): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const [name, tint] = LEVELS.get(Number(entry["level"])) ?? ["LOG", "gray"];
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const time = new Date(typeof entry["time"] === "number" ? entry["time"] : Date.parse(String(entry["time"]))).toISOString().slice(11, 23);
  const textOf = (key: string): string => (typeof entry[key] === "string" ? entry[key] : "");
  const fields = Object.entries(entry).filter(([key]) => !SHOWN.has(key));
  const err = entry["err"] as { message?: string } | undefined;
  if (err?.message) fields.push(["err", err.message]);
  const rest = fields.map(([key, value]) => paint("gray", `${key}=`) + oneLine(typeof value === "string" ? value : JSON.stringify(value)));
  return [time, paint(tint, name.padEnd(5)), paint("cyan", textOf("component")), textOf("msg"), ...rest]
    .filter((part) => part !== "")
    .join(" ");
}

function oneLine(text: string): string {
  return printable(text).replaceAll("\n", "\\n");
}
