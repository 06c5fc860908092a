import { expect } from "vitest";
import { StepBudget } from "../../pkg/resolve/constraint/stepBudget.ts";
import { toSolverBundles } from "../../pkg/resolve/dependencies/solverProblem.ts";
import { type DependencyWorld, dependencyWorld } from "./dependencyFixture.ts";
import { toNumber } from "./dependencyWorldReference.ts";
import { ROOT } from "./dependencyWorlds.ts";

const SIGNAL = new AbortController().signal;

/** Returns the candidates in the order of preference: the highest version, then the first catalog by name. */
export function rankCandidates<C extends { readonly name: string; readonly catalog: string | undefined }>(candidates: readonly C[]): C[] {
  return candidates.toSorted((a, b) => toNumber(b.name) - toNumber(a.name) || ((a.catalog ?? "") < (b.catalog ?? "") ? -1 : 1));
}

/** Opens a world: the candidates of the root package in order, and what the controller reads to judge them. */
export async function openWorld(world: DependencyWorld, budget = new StepBudget()) {
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
  const found = await reachable.read(catalogs, request, SIGNAL, budget);
  expect(found.added.exceeded).toBeUndefined();
  return { candidates, context, reachable: found, constraints };
}
