import { assert, asyncProperty, integer, oneof } from "fast-check";
import { expect, test } from "vitest";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import {
  bundlesOf,
  canInstall,
  install,
  listAdditions,
  listUpgrades,
  type PlacedBundle,
  toNumber,
} from "../../../test/support/dependencyWorldReference.ts";
import { type GeneratedWorld, generateWorlds, ROOT } from "../../../test/support/dependencyWorlds.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { StepBudget } from "../../resolve/constraint/stepBudget.ts";
import { findHint, type ResolutionHint } from "../../resolve/dependencies/remedySearch.ts";
import { buildProblem, toSolverBundles } from "../../resolve/dependencies/solverProblem.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { solve } from "../../resolve/solver/solve.ts";

/** Worlds with nested constraints, and few or many installed bundles. */
const NESTED = oneof(
  generateWorlds({ depth: 2, maxConstraints: 2, oneInstalledOf: 2 }),
  generateWorlds({ depth: 2, maxConstraints: 1, oneInstalledOf: 1 }),
);
/** Worlds with simple constraints and many installed bundles, in which updates often help. */
const CROWDED = generateWorlds({ depth: 1, maxConstraints: 1, oneInstalledOf: 1 });

const SIGNAL = new AbortController().signal;

/** Returns the candidates in the order of preference: the highest version, then the first catalog by name. */
function rankCandidates<C extends { readonly name: string; readonly catalog: string | undefined }>(candidates: readonly C[]): C[] {
  return candidates.toSorted((a, b) => toNumber(b.name) - toNumber(a.name) || ((a.catalog ?? "") < (b.catalog ?? "") ? -1 : 1));
}

/** Opens a world: the candidates of the root package in order, and what the controller reads to judge them. */
async function openWorld(world: DependencyWorld) {
  const { installContext, reachable, constraints, contents, catalogs } = dependencyWorld(world);
  const roots = await contents.read(catalogs, ROOT, SIGNAL);
  await constraints.prepareCel();
  const context = await installContext.read(ROOT);
  const source = { packageOf: () => undefined, read: constraints.read };
  const candidates = rankCandidates(
    roots.flatMap(({ name, priority, content }) => toSolverBundles(ROOT, content?.bundles ?? [], { catalog: name, priority }, source)),
  );
  const request = {
    packageName: ROOT,
    candidates: candidates.map((one) => ({ provider: one, declared: { constraints: one.constraints, faults: [] } })),
    context,
  };
  const found = await reachable.read(catalogs, request, SIGNAL, new StepBudget());
  expect(found.added.exceeded).toBeUndefined();
  return { candidates, context, reachable: found };
}

/** Returns the bundles that would be installed; undefined if the root cannot be installed. */
async function solveWorld(world: DependencyWorld): Promise<ReadonlyMap<string, SolverBundle> | undefined> {
  const { candidates, context, reachable } = await openWorld(world);
  const solution = solve(buildProblem({ packageName: ROOT, candidates }, context, reachable.added.packages, reachable.index));
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
    asyncProperty(NESTED, async (world) => {
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
    { numRuns: 1_000, seed: 21 },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
});

/** Returns the items in another order, depending on `seed`. */
function shuffle<T>(items: readonly T[], seed: number): T[] {
  const at = items.length === 0 ? 0 : seed % items.length;
  const rotated = [...items.slice(at), ...items.slice(0, at)];
  return seed % 2 === 0 ? rotated.reverse() : rotated;
}

const shuffleRecord = <T>(members: Readonly<Record<string, T>>, seed: number): Record<string, T> =>
  Object.fromEntries(shuffle(Object.entries(members), seed));

/** Changes the order of catalogs, packages, bundles, channels, their entries, installed bundles and APIs. */
function shuffleWorld(world: GeneratedWorld, seed: number): GeneratedWorld {
  const catalogs = Object.entries(world.catalogs).map(([name, catalog]) => {
    const packages = Object.entries(catalog.packages).map(([packageName, { bundles, channels = {}, ...rest }]) => {
      const shuffled = Object.entries(channels).map(([channel, entries]) => [channel, shuffle(entries, seed + 1)] as const);
      return [packageName, { ...rest, bundles: shuffle(bundles, seed), channels: Object.fromEntries(shuffle(shuffled, seed)) }] as const;
    });
    return [name, { ...catalog, packages: Object.fromEntries(shuffle(packages, seed)) }] as const;
  });
  return {
    ...world,
    catalogs: Object.fromEntries(shuffle(catalogs, seed)),
    installed: shuffleRecord(world.installed, seed),
    served: shuffle(world.served, seed),
  };
}

/** Returns the chosen bundle, its dependencies, and why a better bundle cannot be installed. */
async function choose(world: GeneratedWorld): Promise<unknown> {
  const { choice, contents, catalogs } = dependencyWorld(world);
  const base = createExtension(ROOT, { packageName: ROOT, upgradeConstraintPolicy: "SelfCertified" });
  const extension: ClusterExtension = { ...base, spec: { ...base.spec, dependencies: { policy: "Install" } } };
  const installed = world.installed[ROOT]?.bundle;
  const byName = catalogs.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const filtered = filterCandidates({
    source: base.spec.source.catalog!,
    catalogs: await contents.read(byName, ROOT, SIGNAL),
    installed: installed === undefined ? undefined : { name: installed, version: installed.slice(installed.indexOf(".v") + 2) },
  });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const { resolution, plan, rejected } = await choice.choose(extension, filtered, catalogs, SIGNAL);
  return {
    resolution: resolution.kind === "resolved" ? format({ name: resolution.bundle.name, catalog: resolution.catalog }) : resolution.message,
    needs: plan?.status.members.map(({ bundle, catalog, wave }) => `${wave} ${format({ name: bundle.name, catalog })}`),
    rejected: rejected && [rejected.bundle, ...rejected.clauses],
  };
}

test("the choice and its reasons do not depend on the order of catalogs, packages, bundles, channels and installed bundles", async () => {
  await assert(
    asyncProperty(NESTED, integer({ min: 1, max: 999 }), async (world, seed) => {
      expect(await choose(shuffleWorld(world, seed))).toEqual(await choose(world));
    }),
    { numRuns: 300, seed: 22 },
  );
});

/** Finds the bundle of the world that the solver's bundle stands for. */
function placed(world: GeneratedWorld, { packageName, name, catalog }: SolverBundle): PlacedBundle {
  const found = bundlesOf(world, packageName).find((one) => one.name === name && one.catalog === catalog);
  if (!found) throw new Error(`no bundle ${name} in catalog ${catalog}`);
  return found;
}

/** Returns the updates of one extension that are possible on their own and allow installing the candidate. */
function listHelpfulUpdates(world: GeneratedWorld, candidate: PlacedBundle, extension: string, isLimited: boolean): PlacedBundle[] {
  return listUpgrades(world, extension, isLimited).filter(
    (update) => canInstall(world, [update]) && listAdditions(install(world, [update]), candidate).length > 0,
  );
}

/** Asserts that a hint is true in the world. */
function verifyHint(world: GeneratedWorld, candidate: PlacedBundle, hint: ResolutionHint): void {
  const others = Object.keys(world.installed).filter((extension) => extension !== ROOT);
  if (hint.kind !== "offered") expect(listAdditions(world, candidate)).toEqual([]);
  if (hint.kind === "none" || hint.kind === "deadlock")
    for (const extension of others) expect(listHelpfulUpdates(world, candidate, extension, true)).toEqual([]);
  if (hint.kind === "none" || hint.kind === "undecided") return;
  const bundles = hint.bundles.map((bundle) => placed(world, bundle));
  if (hint.kind === "deadlock") {
    const updates = hint.updates.map(({ bundle }) => placed(world, bundle));
    for (const update of updates) expect(listUpgrades(world, update.packageName, true)).toContainEqual(update);
    expect(canInstall(world, [candidate, ...updates, ...bundles])).toBe(true);
    return;
  }
  let now = world;
  for (const step of hint.kind === "steps" ? hint.steps : []) {
    const bundle = placed(world, step.bundle);
    const isLimited = step.kind === "update" && step.excludedBy === undefined;
    if (step.kind === "install") expect(now.installed[bundle.packageName]).toBeUndefined();
    else expect(listUpgrades(now, step.extension, isLimited)).toContainEqual(bundle);
    if (hint.kind === "steps" && hint.steps.length === 1 && step.kind === "update") {
      const better = listHelpfulUpdates(world, candidate, step.extension, isLimited).filter(
        ({ name }) => toNumber(name) > toNumber(bundle.name),
      );
      expect(better).toEqual([]);
    }
    expect(canInstall(now, [bundle])).toBe(true);
    now = install(now, [bundle]);
  }
  expect(canInstall(now, [candidate, ...bundles])).toBe(true);
  if (hint.kind !== "selectCatalog") expect(canPrecede(now, bundles)).toBe(hint.canPrecede);
}

/** Reports whether the bundles can be installed one after the other. */
function canPrecede(world: GeneratedWorld, bundles: readonly PlacedBundle[]): boolean {
  return (
    bundles.length === 0 ||
    bundles.some(
      (bundle) =>
        canInstall(world, [bundle]) &&
        canPrecede(
          install(world, [bundle]),
          bundles.filter((other) => other !== bundle),
        ),
    )
  );
}

test("the search for a remedy finds only changes that allow the installation, with the highest versions", async () => {
  const seen: Record<string, number> = {};
  await assert(
    asyncProperty(CROWDED, async (world) => {
      const { candidates, context, reachable } = await openWorld(world);
      for (const candidate of candidates) {
        const hint = findHint(candidate, context, reachable);
        const kind =
          hint.kind === "steps"
            ? hint.steps.map((step) => (step.kind === "update" && step.excludedBy ? "allow" : step.kind)).join()
            : hint.kind;
        seen[kind] = (seen[kind] ?? 0) + 1;
        verifyHint(world, placed(world, candidate), hint);
      }
    }),
    { numRuns: 800, seed: 23 },
  );
  for (const kind of ["offered", "update", "allow", "deadlock", "none"]) expect(seen[kind], kind).toBeGreaterThan(5);
});
