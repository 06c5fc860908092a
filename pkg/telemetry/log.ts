import { styleText } from "node:util";
import { type LoggerOptions, type Logger as PinoLogger, pino, stdSerializers } from "pino";
import { escapeLines } from "../text/escape.ts";
import { REDACT_PATHS, REDACTED, redactSecrets } from "../text/redact.ts";

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
 * Formats a JSON log line for users: time, level, component, message, then the fields as key=value,
 * always on one line. Returns other text unchanged.
 */
export function formatPrettyLine(line: string, colour: boolean): string {
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
  const getText = (key: string): string => (typeof entry[key] === "string" ? entry[key] : "");
  const fields = Object.entries(entry).filter(([key]) => !SHOWN.has(key));
  const err = entry["err"] as { message?: string } | undefined;
  if (err?.message) fields.push(["err", err.message]);
  const rest = fields.map(
    ([key, value]) => paint("gray", `${key}=`) + escapeLines(typeof value === "string" ? value : JSON.stringify(value)),
  );
  return [time, paint(tint, name.padEnd(5)), paint("cyan", getText("component")), getText("msg"), ...rest]
    .filter((part) => part !== "")
    .join(" ");
}

/**
 * Structured logger. Messages are constant and values are fields: `log.info({ bundle }, "bundle
 * resolved")`. Child loggers have the fields `controller`, `object`, `reconcileID`, `step`. Use
 * `info` for changes and decisions, and `debug` for everything else.
 */
export type Logger = PinoLogger;

/** Destination of log lines; default: standard output. */
interface LogDestination {
  write(line: string): unknown;
}

/** Options of `createLogger`. `pretty` writes readable lines instead of JSON. */
export interface LoggerInit {
  component: string;
  level?: string;
  pretty?: boolean;
  destination?: LogDestination;
}

/** Creates the logger of one program. Redacts secret fields by name, and secrets in any text by format. */
export function createLogger({ component, level = "info", pretty = false, destination }: LoggerInit): Logger {
  const out = destination ?? (pretty ? process.stdout : undefined);
  const options: LoggerOptions = {
    level,
    base: { component },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: { paths: REDACT_PATHS, censor: REDACTED },
    serializers: { err: errorFields },
    hooks: { streamWrite: redactSecrets },
  };
  if (!out) return pino(options);
  const colour = pretty && "isTTY" in out && out.isTTY;
  return pino(options, { write: (line: string) => void out.write(pretty ? `${formatPrettyLine(line.trimEnd(), colour)}\n` : line) });
}

/** Maximum length of a stack trace in a log line, including the stack traces of causes. */
const MAX_STACK = 8_192;

/**
 * Returns the type, message, stack trace and plain fields of an error, without attached objects
 * such as requests and sockets.
 */
function errorFields(err: unknown): unknown {
  if (!(err instanceof Error)) return err;
  const { type, message, stack } = stdSerializers.err(err);
  const fields: Record<string, unknown> = { type, message, stack: stack.slice(0, MAX_STACK) };
  for (const [key, value] of Object.entries(err)) if (typeof value === "string" || typeof value === "number") fields[key] ??= value;
  return fields;
}
