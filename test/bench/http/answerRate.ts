import { type FigureId, GOALS } from "../goals.ts";
import type { BenchContext, Figure } from "../measurement.ts";
import { readProcessUse } from "../processUse.ts";
import { digits } from "../units.ts";
import { type LoadResult, load } from "./load.ts";

/** Headers of a client that accepts compressed responses. */
export const GZIP = { "accept-encoding": "gzip" } as const;

const RUNS = 3;
const WARM_UP_SECONDS = 0.5;

/** The server to measure. */
export interface Target {
  /** URL such as https://127.0.0.1:4711/catalogs/NAME/api/v1 */
  readonly base: string;
  readonly ca: string;
  readonly pid: number | undefined;
}

/** A request pattern: path, headers and number of connections. */
export interface Question {
  readonly id: FigureId;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
}

/** Sends requests for `context.seconds` in each run, on all connections concurrently. */
export async function measureResponseRate(
  { id, path, headers = {}, connections }: Question,
  target: Target,
  context: BenchContext,
): Promise<Figure> {
  const runs = context.runs ?? RUNS;
  const results: LoadResult[] = [];
  const url = `${target.base}/${path}`;
  const before = await readProcessUse(target.pid);
  for (let run = 1; run <= runs; run++) {
    results.push(await load({ url, headers, connections, seconds: context.seconds, warmUpSeconds: WARM_UP_SECONDS, ca: target.ca }));
  }
  const after = await readProcessUse(target.pid);
  context.say(`${GOALS[id].work.trim()}: ${runs} runs`);
  const serverShare = (after.cpuSeconds - before.cpuSeconds) / (runs * (context.seconds + WARM_UP_SECONDS));
  return { id, samples: results.map(computeRate), note: formatNote(results, serverShare) };
}

/**
 * Returns responses per second. Large responses are counted by bytes, because incomplete ones at the end of a run
 * matter.
 */
function computeRate({ answers, bodyBytes, seconds, answerBytes }: LoadResult): number {
  return (answerBytes > 0 ? bodyBytes / answerBytes : answers) / seconds;
}

/**
 * Describes size and encoding of the responses, the transfer rate, and the CPU use of the server, which shares cores
 * with the client.
 */
function formatNote(results: readonly LoadResult[], serverShare: number): string {
  const sum = (of: (result: LoadResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const seconds = sum((r) => r.seconds);
  const [first] = results;
  const { answerBytes, encoding } = first ?? { answerBytes: 0, encoding: "" };
  const statuses = [...new Set(results.flatMap((result) => Object.keys(result.statuses)))].join(" ");
  const megabytes = sum((r) => r.bodyBytes) / seconds / 1e6;
  const size = answerBytes === 0 ? "no body" : `${(answerBytes / 1e6).toFixed(2)} MB each, ${megabytes.toFixed(0)} MB/s`;
  const clientShare = sum((r) => r.clientCpuSeconds) / seconds;
  const perServerSecond = digits(sum(computeRate) / results.length / serverShare);
  return (
    `TLS, status ${statuses}, ${encoding}, ${size}; cores in use: server ${serverShare.toFixed(2)}, client ${clientShare.toFixed(2)}; ` +
    `${perServerSecond} responses per CPU second of the server`
  );
}
