import { assert, asyncProperty } from "fast-check";
import { expect, test } from "vitest";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { bundlesOf, listAdditions, type PlacedBundle, toNumber } from "../../../test/support/dependencyWorldReference.ts";
import { type GeneratedWorld, generatedWorlds, ROOT } from "../../../test/support/dependencyWorlds.ts";
import { buildProblem, toSolverBundles } from "../../resolve/dependencies/solverProblem.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { solve } from "../../resolve/solver/solve.ts";

const SIGNAL = new AbortController().signal;

/** Returns the candidates in the order of preference: the highest version, then the first catalog by name. */
function rankCandidates<C extends { readonly name: string; readonly catalog: string | undefined }>(candidates: readonly C[]): C[] {
  return candidates.toSorted((a, b) => toNumber(b.name) - toNumber(a.name) || ((a.catalog ?? "") < (b.catalog ?? "") ? -1 : 1));
}

/** Returns the bundles that would be installed, and whether the search was complete. */
async function solveWorld(world: DependencyWorld): Promise<ReadonlyMap<string, SolverBundle> | undefined> {
  const { installContext, reachable, constraints, contents, catalogs } = dependencyWorld(world);
  const roots = await contents.read(catalogs, ROOT, SIGNAL);
  const bundles = roots.flatMap(({ content }) => content?.bundles ?? []);
  await constraints.prepareCel();
  const context = await installContext.read(ROOT);
  const source = { packageOf: () => undefined, read: constraints.read };
  const candidates = rankCandidates(
    roots.flatMap(({ name, priority, content }) => toSolverBundles(ROOT, content?.bundles ?? [], { catalog: name, priority }, source)),
  );
  expect(bundles.flatMap((bundle) => constraints.read(bundle).faults)).toEqual([]);
  const request = {
    packageName: ROOT,
    candidates: candidates.map((one) => ({ provider: one, declared: { constraints: one.constraints, faults: [] } })),
    context,
  };
  const { added, index } = await reachable.read(catalogs, request, SIGNAL);
  expect(added.exceeded).toBeUndefined();
  const solution = solve(buildProblem({ packageName: ROOT, candidates }, context, added.packages, index));
  if (solution.kind === "undecided") throw new Error(`undecided after ${solution.steps} steps`);
  return solution.kind === "solved" ? solution.chosen : undefined;
}

const format = ({ name, catalog }: Pick<PlacedBundle, "name" | "catalog">): string => `${name} ${catalog ?? "installed"}`;

/** Returns the first candidate that can be installed with what can be added to it. */
function findFirst(world: GeneratedWorld): { candidate: PlacedBundle; additions: PlacedBundle[][] } | undefined {
  for (const candidate of rankCandidates(bundlesOf(world, ROOT))) {
    const additions = listAdditions(world, candidate);
    if (additions.length > 0) return { candidate, additions };
  }
  return undefined;
}

test("the search for dependencies finds a solution exactly when one exists among all sets of bundles", async () => {
  const seen = { solved: 0, added: 0, refused: 0 };
  await assert(
    asyncProperty(generatedWorlds, async (world) => {
      const chosen = await solveWorld(world);
      const first = findFirst(world);
      const root = chosen?.get(ROOT);
      expect(root && format(root)).toEqual(first && format(first.candidate));
      if (!chosen || !first) {
        seen.refused++;
        return;
      }
      const added = [...chosen.values()].filter(({ catalog, packageName }) => catalog !== undefined && packageName !== ROOT);
      seen.solved++;
      if (added.length > 0) seen.added++;
      const sets = first.additions.map((set) => set.map(format).sort());
      const names = added.map(format).sort();
      expect(sets).toContainEqual(names);
      expect(sets.filter((set) => set.length < names.length && set.every((name) => names.includes(name)))).toEqual([]);
    }),
    { numRuns: 800, seed: 21 },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(80);
});
