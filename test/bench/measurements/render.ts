import { readdirSync } from "node:fs";
import { join } from "node:path";
import { installModes } from "../../../pkg/bundle/installModes.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import type { BundleFiles } from "../../../pkg/bundle/types.ts";
import { certManager } from "../../../pkg/render/certManager.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { bundleFiles } from "../../cases/topics/render.ts";
import type { Measurement } from "../measurement.ts";
import { dataFolder } from "../realData.ts";

const RUNS = 5;
const NAMESPACE = "operators";

/** A bundle's files, in memory, become objects: reading YAML, checking and rendering. */
export const renderMeasurement: Measurement = {
  name: "render",
  title: "real bundles from their files to their objects",
  figures: ["render"],
  async *run(context) {
    const bundles = bundlesIn(join(dataFolder(context), "bundles"));
    const runs = context.runs ?? RUNS;
    const first = pass(bundles);
    const samples: number[] = [];
    for (let run = 1; run <= runs; run++) {
      samples.push(pass(bundles).seconds / bundles.length);
      context.say(`run ${run} of ${runs}`);
    }
    const megabytes = bundles.flatMap((files) => [...files.values()]).reduce((sum, { length }) => sum + length, 0) / 1e6;
    const note =
      `mean of ${bundles.length} bundles (${megabytes.toFixed(0)} MB, ${first.objects} objects, ${first.refused} refused); ` +
      `in a process that has just started: ${((first.seconds / bundles.length) * 1_000).toFixed(1)} ms`;
    yield { id: "render", samples, note };
  },
};

function bundlesIn(folder: string): BundleFiles[] {
  const versions = readdirSync(folder, { withFileTypes: true })
    .filter((operator) => operator.isDirectory())
    .flatMap((operator) => readdirSync(join(folder, operator.name)).map((version) => join(folder, operator.name, version)));
  return versions.map(bundleFiles).filter((files) => files.size > 0);
}

function pass(bundles: readonly BundleFiles[]): { seconds: number; objects: number; refused: number } {
  const started = performance.now();
  let objects = 0;
  let refused = 0;
  for (const files of bundles) {
    const made = objectsOf(files);
    if (made === undefined) refused++;
    else objects += made;
  }
  return { seconds: (performance.now() - started) / 1_000, objects, refused };
}

/** How many objects a bundle has; undefined for one that the operator-controller refuses. */
function objectsOf(files: BundleFiles): number | undefined {
  try {
    const bundle = loadBundle(files);
    const config = installModes(bundle.csv).has("AllNamespaces") ? undefined : { watchNamespace: NAMESPACE };
    return renderBundle(bundle, { installNamespace: NAMESPACE, config, certProvider: certManager }).length;
  } catch {
    return undefined;
  }
}
