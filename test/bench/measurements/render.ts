import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import { listSupportedInstallModes } from "../../../pkg/bundle/validate.ts";
import { certManager } from "../../../pkg/certificates/providers.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { bundleFiles } from "../../cases/topics/render.ts";
import type { Measurement } from "../measurement.ts";
import { dataFolder } from "../realData.ts";

const RUNS = 5;
const NAMESPACE = "operators";

/** Renders bundles from their folders: reading cached files, parsing YAML, validation and rendering. */
export const renderMeasurement: Measurement = {
  name: "render",
  title: "rendering of real bundles from their files",
  figures: ["render"],
  async *run(context) {
    const root = join(dataFolder(context), "bundles");
    const bundles = listBundles(root);
    const runs = context.runs ?? RUNS;
    const first = runPass(bundles);
    let last = first;
    const samples: number[] = [];
    for (let run = 1; run <= runs; run++) {
      last = runPass(bundles);
      samples.push(last.seconds / bundles.length);
      context.say(`run ${run} of ${runs}`);
    }
    const megabytes = bundles.flatMap((folder) => [...bundleFiles(folder).values()]).reduce((sum, { length }) => sum + length, 0) / 1e6;
    const times = [...last.times].sort((a, b) => a.seconds - b.seconds);
    const slowest = times.at(-1);
    const at = (share: number): string => milliseconds(times[Math.floor(share * (times.length - 1))]?.seconds ?? 0);
    const note =
      `mean of ${bundles.length} bundles (${megabytes.toFixed(0)} MB, ${first.objects} objects, ${first.refused} rejected); median ${at(0.5)}, ` +
      `99th percentile ${at(0.99)}, slowest ${at(1)} (${relative(root, slowest?.folder ?? "")}); ` +
      `in a new process: ${milliseconds(first.seconds / bundles.length)}`;
    yield { id: "render", samples, note };
  },
};

function milliseconds(seconds: number): string {
  return `${(seconds * 1_000).toFixed(1)} ms`;
}

/** Returns the folders of all bundles. */
function listBundles(root: string): string[] {
  const versions = readdirSync(root, { withFileTypes: true })
    .filter((operator) => operator.isDirectory())
    .flatMap((operator) => readdirSync(join(root, operator.name)).map((version) => join(root, operator.name, version)));
  return versions.filter((folder) => bundleFiles(folder).size > 0);
}

/** Results of all bundles, with their durations. */
interface Pass {
  seconds: number;
  objects: number;
  refused: number;
  times: { folder: string; seconds: number }[];
}

function runPass(bundles: readonly string[]): Pass {
  const all: Pass = { seconds: 0, objects: 0, refused: 0, times: [] };
  for (const folder of bundles) {
    const started = performance.now();
    const objectCount = countObjects(folder);
    const seconds = (performance.now() - started) / 1_000;
    all.seconds += seconds;
    all.times.push({ folder, seconds });
    if (objectCount === undefined) all.refused++;
    else all.objects += objectCount;
  }
  return all;
}

/** Returns the number of objects of a bundle; undefined if it is rejected. */
function countObjects(folder: string): number | undefined {
  try {
    const bundle = loadBundle(bundleFiles(folder));
    const config = listSupportedInstallModes(bundle.csv).has("AllNamespaces") ? undefined : { watchNamespace: NAMESPACE };
    return renderBundle(bundle, { installNamespace: NAMESPACE, config, certProvider: certManager }).length;
  } catch {
    return undefined;
  }
}
