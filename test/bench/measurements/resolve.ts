import { join } from "node:path";
import type { ResolveRequest } from "../../../pkg/resolve/resolution.ts";
import { resolve } from "../../../pkg/resolve/resolve.ts";
import { CatalogCache } from "../../cases/catalogCache.ts";
import { casesIn } from "../../cases/readCases.ts";
import { type ResolveCase, resolveTopic } from "../../cases/topics/resolve.ts";
import { ManyResolutions } from "../many/resolutions.ts";
import type { Measurement } from "../measurement.ts";
import { dataFolder } from "../realData.ts";

const RUNS = 7;
/** Iterations over all cases in one run. A run takes a few tenths of a second. */
const PASSES = 5;
const SLOWEST_OF = 5;

/** Measures resolution only: catalogs are in memory, as in operator-controller. */
export const resolveMeasurement: Measurement = {
  name: "resolve",
  title: "resolutions of real packages in real catalogs, in memory",
  figures: ["resolve", "resolve.slowest", "resolve.many", "resolve.many-reads"],
  async *run(context) {
    const folder = dataFolder(context);
    const cache = new CatalogCache(Number.POSITIVE_INFINITY);
    const requests = await listRequests(folder, cache, context.say);
    const runs = context.runs ?? RUNS;
    const once = (): number => requests.reduce((found, request) => found + Number(resolve(request).kind === "resolved"), 0);
    const resolved = once();
    const samples: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const started = performance.now();
      for (let pass = 0; pass < PASSES; pass++) once();
      samples.push((performance.now() - started) / 1_000 / PASSES / requests.length);
    }
    context.say(`${runs} runs of ${PASSES} × ${requests.length} resolutions`);
    yield { id: "resolve", samples, note: `mean of ${requests.length} resolutions, ${resolved} find a bundle` };
    yield {
      id: "resolve.slowest",
      samples: [Math.max(...requests.map(measureFastest))],
      note: `fastest of ${SLOWEST_OF} runs of each resolution`,
    };
    const many = new ManyResolutions(await cache.load(join(folder, "fbc/certified-v4.14")));
    const first = await many.first();
    context.say(`1,000 extensions from scratch: ${first.reads} packages read, ${(first.seconds * 1_000).toFixed(0)} ms`);
    const changes = [];
    for (let run = 1; run <= runs; run++) changes.push(await many.afterChange());
    yield { id: "resolve.many", samples: changes.map(({ seconds }) => seconds), note: `${changes[0]?.resolved} resolved, in one thread` };
    yield { id: "resolve.many-reads", samples: changes.map(({ reads }) => reads) };
  },
};

/** Returns the duration of one resolution in seconds: the shortest of several, to exclude other processes. */
function measureFastest(request: ResolveRequest): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < SLOWEST_OF; i++) {
    const started = performance.now();
    resolve(request);
    best = Math.min(best, performance.now() - started);
  }
  return best / 1_000;
}

async function listRequests(folder: string, cache: CatalogCache, say: (line: string) => void): Promise<ResolveRequest[]> {
  const requests: ResolveRequest[] = [];
  const started = performance.now();
  for await (const { value } of casesIn(join(folder, "resolve/cases.jsonl"))) {
    if (!("decoded" in value) || !resolveTopic.isCase(value.decoded))
      throw new Error("resolve/cases.jsonl contains an entry that is not a case");
    requests.push(await createRequest(value.decoded, folder, cache));
  }
  say(`read ${cache.size} catalogs in ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  return requests;
}

async function createRequest(
  { catalogs, catalog: source, installed }: ResolveCase,
  folder: string,
  cache: CatalogCache,
): Promise<ResolveRequest> {
  const available = catalogs.filter(({ availabilityMode }) => availabilityMode !== "Unavailable");
  const contents = await Promise.all(
    available.map(async ({ name, priority = 0, labels = {}, fbc }) => {
      const content = (await cache.load(join(folder, fbc))).get(source.packageName);
      return { name, priority, labels, content };
    }),
  );
  return { source, catalogs: contents, installed: installed ?? undefined };
}
