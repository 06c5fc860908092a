import { join } from "node:path";
import type { PackageContent } from "../../../pkg/fbc/types.ts";
import { findBundleVersion } from "../../../pkg/resolve/candidates.ts";
import { isDependency } from "../../../pkg/resolve/constraint/parse.ts";
import type { SolverProblem } from "../../../pkg/resolve/solver/problem.ts";
import { formatVersionRelease } from "../../../pkg/version/version.ts";
import { CatalogCache } from "../../cases/catalogCache.ts";
import { packageFrom } from "../../support/dependencyFixture.ts";
import { ROOT } from "../../support/dependencyWorlds.ts";
import { toWorld } from "../../support/hardWorlds.ts";
import { DependencyChoices, type MeasuredChoice } from "../dependencyChoices.ts";
import { generateChain, generateRandomProviders, generateThreeSat } from "../hardProblems.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { dataFolder } from "../realData.ts";

const RUNS = 5;
/** Number of choices of real bundles. */
const REAL_CHOICES = 1_000;
const CATALOGS = ["certified-v4.14", "community-v4.19", "gatekeeper-4-14", "kueue-v5.0", "rhtas-v4.18"];
const MANIFESTS: ReadonlySet<unknown> = new Set(["olm.bundle.object", "olm.csv.metadata"]);

/** Measures how operator-controller chooses bundles with dependencies: on a cluster without extensions, with catalogs in memory. */
export const dependenciesMeasurement: Measurement = {
  name: "dependencies",
  title: "choices of bundles with dependencies, with and without the worker thread",
  figures: ["dependencies.chain", "dependencies.providers-16", "dependencies.three-sat", "dependencies.real", "dependencies.real-thread"],
  async *run(context) {
    const runs = context.runs ?? RUNS;
    yield await measureHard("dependencies.chain", runs, (seed) => generateChain(200, 20, seed));
    yield await measureHard("dependencies.providers-16", runs, (seed) => generateRandomProviders(16, 30, seed));
    yield await measureHard("dependencies.three-sat", runs, (seed) => generateThreeSat(100, 426, seed));
    const folder = dataFolder(context);
    const cache = new CatalogCache(Number.POSITIVE_INFINITY, (type) => !MANIFESTS.has(type));
    const catalogs = await Promise.all(CATALOGS.map((path) => cache.load(join(folder, "fbc", path))));
    const subjects = listSubjects(catalogs);
    context.say(`${subjects.length} bundles with dependencies`);
    const chosen: MeasuredChoice[] = [];
    while (chosen.length < REAL_CHOICES && subjects.length > 0)
      for (const { choices, packageName, version } of subjects) chosen.push(await choices.choose(packageName, version));
    const planned = chosen.filter(({ added }) => added > 0).length;
    const refused = chosen.filter(({ resolution }) => resolution === "unresolved").length;
    yield {
      id: "dependencies.real",
      samples: chosen.map(({ seconds }) => seconds),
      note: `${chosen.length} choices of ${subjects.length} bundles; ${planned} with a plan for other bundles, ${refused} refused`,
    };
    yield { id: "dependencies.real-thread", samples: [chosen.filter(({ inThread }) => inThread).length] };
  },
};

async function measureHard(id: Figure["id"], runs: number, problemOf: (seed: number) => SolverProblem): Promise<Figure> {
  const chosen: MeasuredChoice[] = [];
  for (let seed = 1; seed <= runs; seed++) {
    const [world] = Object.values(toWorld(problemOf(seed)).catalogs ?? {});
    const packages = Object.entries(world?.packages ?? {}).map(([name, fixture]) => {
      const channels = { stable: fixture.bundles.map((bundle) => (typeof bundle === "string" ? bundle : bundle.name)) };
      return [name, packageFrom({ ...fixture, channels }, name)] as const;
    });
    chosen.push(await new DependencyChoices(new Map(packages)).choose(ROOT));
  }
  const outcomes = chosen.map(({ added, resolution, inThread }) => {
    const outcome = resolution === "resolved" ? `${added} added` : "refused";
    return inThread ? `${outcome} (thread)` : outcome;
  });
  return { id, samples: chosen.map(({ seconds }) => seconds), note: outcomes.join(", ") };
}

/** A bundle to choose. */
interface Subject {
  readonly choices: DependencyChoices;
  readonly packageName: string;
  readonly version: string;
}

/** Returns all bundles with dependencies. */
function listSubjects(catalogs: readonly ReadonlyMap<string, PackageContent>[]): Subject[] {
  return catalogs.flatMap((packages) => {
    const choices = new DependencyChoices(packages);
    return [...packages].flatMap(([packageName, { bundles, channels }]) => {
      const inChannel = new Set(channels.flatMap(({ entries }) => entries.map(({ name }) => name)));
      return bundles.flatMap((bundle): Subject[] => {
        const version = findBundleVersion(bundle);
        const isSubject = inChannel.has(bundle.name) && bundle.properties.some(({ type }) => isDependency(type));
        return isSubject && version ? [{ choices, packageName, version: formatVersionRelease(version) }] : [];
      });
    });
  });
}
