import { join } from "node:path";
import { type ResolveRequest, resolve } from "../../../pkg/resolve/resolve.ts";
import { CatalogCache } from "../../cases/catalogCache.ts";
import { casesIn } from "../../cases/readCases.ts";
import { type ResolveCase, resolveTopic } from "../../cases/topics/resolve.ts";
import type { Measurement } from "../measurement.ts";
import { dataFolder } from "../realData.ts";

const RUNS = 7;
/** Passes over all cases in one run, so that a run lasts some tenths of a second. */
const PASSES = 5;

/** Resolution alone: the catalogs are read before, as the operator-controller keeps them. */
export const resolveMeasurement: Measurement = {
  name: "resolve",
  title: "resolutions of real packages on real catalogs, in memory",
  figures: ["resolve"],
  async *run(context) {
    const requests = await requestsIn(dataFolder(context), context.say);
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
    yield { id: "resolve", samples, note: `mean of ${requests.length} resolutions, ${resolved} of which find a bundle` };
  },
};

async function requestsIn(folder: string, say: (line: string) => void): Promise<ResolveRequest[]> {
  const cache = new CatalogCache(Number.POSITIVE_INFINITY);
  const requests: ResolveRequest[] = [];
  const started = performance.now();
  for await (const { value } of casesIn(join(folder, "resolve/cases.jsonl"))) {
    if (!("decoded" in value) || !resolveTopic.isCase(value.decoded))
      throw new Error("resolve/cases.jsonl holds something that is no case");
    requests.push(await requestOf(value.decoded, folder, cache));
  }
  say(`read ${cache.size} catalogs in ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  return requests;
}

async function requestOf(
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
