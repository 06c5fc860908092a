import { compareText } from "../../text/compare.ts";
import type { CelConstraint, Gvk, LeafConstraint, PackageConstraint } from "../constraint/constraint.ts";
import { meets } from "../constraint/evaluate.ts";
import { getGvkKey } from "../constraint/parse.ts";
import { comparePreference, type ServedApi, type SolverBundle, type SolverProblem, type Unit } from "./problem.ts";

/** Returns a key for a leaf. Leaves with the same key are met by the same bundles. */
export function getLeafKey(leaf: LeafConstraint): string {
  if (leaf.kind === "package") return `package ${JSON.stringify([leaf.packageName, leaf.range.text])}`;
  return leaf.kind === "gvk" ? `gvk ${getGvkKey(leaf.gvk)}` : `cel ${leaf.rule}`;
}

const STEPS_OF_RULE = 300;

/** All bundles of a problem, indexed by package, API and rule. Evaluates each rule on each bundle once. */
export class Offer {
  readonly units: ReadonlyMap<string, Unit>;
  readonly #served: ReadonlyMap<string, ServedApi>;
  readonly #meeting = new Map<string, readonly SolverBundle[]>();
  /** Set by the search, and called before work is done, to count search steps. Evaluating a rule on a bundle counts as some hundred steps. */
  spend: (steps: number) => void;
  #byApi: ReadonlyMap<string, readonly SolverBundle[]> | undefined;

  constructor({ units, served }: SolverProblem, spend: (steps: number) => void = () => {}) {
    const byName = units.toSorted((a, b) => compareText(a.packageName, b.packageName));
    this.units = new Map(byName.map((unit) => [unit.packageName, unit]));
    // If an API is listed several times, an entry with an owner counts, the first by name.
    const owned = served.toSorted(
      (a, b) => Number(a.owner !== undefined) - Number(b.owner !== undefined) || compareText(b.owner ?? "", a.owner ?? ""),
    );
    this.#served = new Map(owned.map((api) => [getGvkKey(api.gvk), api]));
    this.spend = spend;
  }

  /** Returns the API if the cluster serves it independently of the units. */
  servedAs(gvk: Gvk): ServedApi | undefined {
    return this.#served.get(getGvkKey(gvk));
  }

  #providersOf(gvk: Gvk): readonly SolverBundle[] {
    this.#byApi ??= this.#indexed();
    return this.#byApi.get(getGvkKey(gvk)) ?? [];
  }

  /** Returns the bundles that meet the leaf, in a deterministic order. */
  meeting(leaf: LeafConstraint): readonly SolverBundle[] {
    const key = getLeafKey(leaf);
    const known = this.#meeting.get(key);
    if (known) return known;
    const found = leaf.kind === "package" ? this.#inRange(leaf) : leaf.kind === "gvk" ? this.#providersOf(leaf.gvk) : this.#ruledIn(leaf);
    const inOrder = found.toSorted((a, b) => comparePreference(a, b, undefined));
    this.#meeting.set(key, inOrder);
    return inOrder;
  }

  #inRange(leaf: PackageConstraint): SolverBundle[] {
    const candidates = this.units.get(leaf.packageName)?.candidates ?? [];
    this.spend(candidates.length);
    return candidates.filter((candidate) => meets(candidate, leaf));
  }

  #ruledIn(leaf: CelConstraint): SolverBundle[] {
    const found: SolverBundle[] = [];
    for (const { candidates } of this.units.values()) {
      this.spend(candidates.length * STEPS_OF_RULE);
      for (const candidate of candidates) if (meets(candidate, leaf)) found.push(candidate);
    }
    return found;
  }

  #indexed(): Map<string, SolverBundle[]> {
    const found = new Map<string, SolverBundle[]>();
    for (const { candidates } of this.units.values())
      for (const candidate of candidates)
        for (const key of new Set(candidate.apis.map(getGvkKey))) {
          const providers = found.get(key);
          if (providers) providers.push(candidate);
          else found.set(key, [candidate]);
        }
    return found;
  }
}
