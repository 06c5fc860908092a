import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { UsageError } from "../cases/runMain.ts";
import type { Measurement } from "./measurement.ts";

export const USAGE = `usage: npm run -s bench -- [NAME...] [--runs N] [--seconds N] [--extensions N] [--settle N] [--rest N]
                                     [--json FILE] [--baseline FILE]
  NAME          measurements to run, in this order, or a group such as catalogd (default: all, see --list)
  --list        print the measurements, and goals without a measurement
  --runs        number of runs (default: set by each measurement)
  --seconds     duration of each run of a throughput measurement (default: 3)
  --extensions  number of extensions (default: set by each measurement)
  --settle      seconds that steady-state waits before it measures (default: 120)
  --rest        seconds that steady-state measures (default: 300)
  --json        write the figures to a file
  --baseline    compare with a file written by --json`;

/** Arguments of the command line. */
export interface BenchArguments {
  readonly help: boolean;
  readonly list: boolean;
  readonly chosen: readonly Measurement[];
  readonly runs: number | undefined;
  readonly seconds: number;
  readonly extensions: number | undefined;
  readonly settleSeconds: number;
  readonly restSeconds: number;
  /** Absolute paths. */
  readonly json: string | undefined;
  readonly baseline: string | undefined;
}

const DEFAULT_SECONDS = 3;
const DEFAULT_SETTLE_SECONDS = 120;
const DEFAULT_REST_SECONDS = 300;

/**
 * Parses the command line.
 * @param base folder for relative paths.
 * @throws UsageError for an unknown name or option, or a malformed number.
 */
export function parseBenchArguments(args: readonly string[], measurements: readonly Measurement[], base: string): BenchArguments {
  const { values, positionals } = parse(args);
  const named = positionals.flatMap((name) => {
    const found = measurements.filter((measurement) => measurement.name === name || measurement.group === name);
    if (found.length === 0) throw new UsageError(`unknown measurement ${name}`);
    return found;
  });
  const chosen = [...new Set(named)];
  return {
    help: values.help ?? false,
    list: values.list ?? false,
    chosen: chosen.length > 0 ? chosen : measurements,
    runs: values.runs === undefined ? undefined : count("runs", values.runs),
    seconds: values.seconds === undefined ? DEFAULT_SECONDS : count("seconds", values.seconds),
    extensions: values.extensions === undefined ? undefined : count("extensions", values.extensions),
    settleSeconds: values.settle === undefined ? DEFAULT_SETTLE_SECONDS : count("settle", values.settle),
    restSeconds: values.rest === undefined ? DEFAULT_REST_SECONDS : count("rest", values.rest),
    json: values.json === undefined ? undefined : resolve(base, values.json),
    baseline: values.baseline === undefined ? undefined : resolve(base, values.baseline),
  };
}

interface Values {
  help?: boolean;
  list?: boolean;
  runs?: string;
  seconds?: string;
  extensions?: string;
  settle?: string;
  rest?: string;
  json?: string;
  baseline?: string;
}

function parse(args: readonly string[]): { values: Values; positionals: string[] } {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { ...flag, short: "h" },
        list: flag,
        runs: text,
        seconds: text,
        extensions: text,
        settle: text,
        rest: text,
        json: text,
        baseline: text,
      },
    });
  } catch (err) {
    throw new UsageError(getErrorMessage(err), { cause: err });
  }
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new UsageError(`--${option} needs a whole number from 1 to 9999, not ${text}`);
  return Number(text);
}
