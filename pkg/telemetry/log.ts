import { type LoggerOptions, type Logger as PinoLogger, pino, stdSerializers } from "pino";
import { REDACTED } from "../errors/userinfo.ts";
import { prettyLine } from "./pretty.ts";
import { REDACT_PATHS, scrub } from "./redact.ts";

/**
 * Structured logger: the message is constant, values are fields, `log.info({ bundle }, "bundle resolved")`.
 * Child loggers carry `controller`, `object`, `reconcileID`, `step`. `info` = something changed or was decided, `debug` = the rest.
 */
export type Logger = PinoLogger;

/** Where lines go; standard output unless given. */
export interface LogDestination {
  write(line: string): unknown;
}

/** Options of `createLogger`. `pretty` writes lines for people instead of JSON. */
export interface LoggerInit {
  component: string;
  level?: string;
  pretty?: boolean;
  destination?: LogDestination;
}

/** The logger of one program. Secrets are removed by member name and, in all text, by shape. */
export function createLogger({ component, level = "info", pretty = false, destination }: LoggerInit): Logger {
  const out = destination ?? (pretty ? process.stdout : undefined);
  const options: LoggerOptions = {
    level,
    base: { component },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: { paths: REDACT_PATHS, censor: REDACTED },
    serializers: { err: errorFields },
    hooks: { streamWrite: scrub },
  };
  if (!out) return pino(options);
  const colour = pretty && "isTTY" in out && out.isTTY;
  return pino(options, { write: (line: string) => void out.write(pretty ? `${prettyLine(line.trimEnd(), colour)}\n` : line) });
}

/** Longest stack that a line holds; causes are part of the stack. */
const MAX_STACK = 8_192;

/** An error's kind, text, stack and own plain fields; never the objects that some errors drag along (requests, sockets). */
function errorFields(err: unknown): unknown {
  if (!(err instanceof Error)) return err;
  const { type, message, stack } = stdSerializers.err(err);
  const fields: Record<string, unknown> = { type, message, stack: stack.slice(0, MAX_STACK) };
  for (const [key, value] of Object.entries(err)) if (typeof value === "string" || typeof value === "number") fields[key] ??= value;
  return fields;
}
