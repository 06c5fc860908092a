import { compareText } from "../../text/compare.ts";
import type { CelConstraint, Gvk, LeafConstraint, PackageConstraint } from "../constraint/constraint.ts";
import { meets } from "../constraint/evaluate.ts";
import { gvkKey } from "../constraint/parse.ts";
import { comparePreference, type ServedApi, type SolverBundle, type SolverProblem, type Unit } from "./problem.ts";

/** Two leaves have the same key when the same bundles meet them. */
export function leafKey(leaf: LeafConstraint): string {
  if (leaf.kind === "package") return `package ${JSON.stringify([leaf.packageName, leaf.range.text])}`;
  return leaf.kind === "gvk" ? `gvk ${gvkKey(leaf.gvk)}` : `cel ${leaf.rule}`;
}

const STEPS_OF_RULE = 300;

/** All bundles of a problem, found by package, by API and by rule; each rule is tried on each bundle once. */
export class Offer {
  readonly units: ReadonlyMap<string, Unit>;
  readonly #served: ReadonlyMap<string, ServedApi>;
  readonly #meeting = new Map<string, readonly SolverBundle[]>();
  /** Told before so much is looked at; set by whoever searches. Counted in steps of the search, of which trying a rule on a bundle takes some hundreds. */
  spend: (steps: number) => void;
  #byApi: ReadonlyMap<string, readonly SolverBundle[]> | undefined;

  constructor({ units, served }: SolverProblem, spend: (steps: number) => void = () => {}) {
    const byName = units.toSorted((a, b) => compareText(a.packageName, b.packageName));
    this.units = new Map(byName.map((unit) => [unit.packageName, unit]));
    this.#served = new Map(served.map((api) => [gvkKey(api.gvk), api]));
    this.spend = spend;
  }

  /** The API as the cluster serves it already, apart from what the units provide. */
  servedAs(gvk: Gvk): ServedApi | undefined {
    return this.#served.get(gvkKey(gvk));
  }

  #providersOf(gvk: Gvk): readonly SolverBundle[] {
    this.#byApi ??= this.#indexed();
    return this.#byApi.get(gvkKey(gvk)) ?? [];
  }

  /** The bundles that meet the leaf, in an order that is always the same. */
  meeting(leaf: LeafConstraint): readonly SolverBundle[] {
    const key = leafKey(leaf);
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
        for (const key of new Set(candidate.apis.map(gvkKey))) {
          const providers = found.get(key);
          if (providers) providers.push(candidate);
          else found.set(key, [candidate]);
        }
    return found;
  }
}
