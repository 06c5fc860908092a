import { type Literal, negate, type Trail } from "./trail.ts";

/** A group of literals of which at most one can be true. */
export interface Slot {
  /** The literal that enables the group; undefined if it is always enabled. */
  readonly label: Literal | undefined;
}

/** A true literal that requires one of its options. */
export interface Demand {
  readonly literal: Literal;
  readonly options: readonly Literal[];
}

/** Which options of a demand count as possible. */
export interface CountingRules {
  /** With `decided`, an option with a slot that is false because of a decision is impossible; otherwise it counts as possible. */
  readonly falseOptions: "possible" | "decided";
  /** With `excluded`, open options without a slot count as impossible and become part of the clause; otherwise their demands are not counted. */
  readonly openOptions: "possible" | "excluded";
}

/** A demand, and the one slot of each of its options that is counted. */
interface CountedDemand {
  readonly literal: Literal;
  /** Slots of the options that may become true. */
  readonly slots: Set<Slot>;
  /** Options that must stay false, with their slot if they have one. */
  readonly excluded: Map<Literal, Slot | undefined>;
}

/**
 * Finds demands that need more slots than their options have: a pigeonhole principle, which a search needs exponential time to find. Uses a maximum
 * matching of demands and slots. Only demands without a common option are counted.
 * @param rules which options count as possible
 * @param spend called with the number of visited options and slots
 * @returns a clause that follows from all clauses and whose literals are false, or open options without a slot if these may be excluded; undefined if
 * each counted demand can have a slot
 * @see https://doi.org/10.1112/jlms/s1-10.37.26 Hall: On Representatives of Subsets
 */
export function findShortage(
  demands: readonly Demand[],
  slotsOf: (option: Literal) => readonly Slot[],
  trail: Trail,
  rules: CountingRules,
  spend: (steps: number) => void,
): Literal[] | undefined {
  const counted = countDemands(demands, slotsOf, trail, rules, spend);
  const holders = new Map<Slot, CountedDemand>();
  for (const demand of counted) {
    const tried = new Set<Slot>();
    if (takeSlot(demand, holders, tried, spend)) continue;
    const short = new Set([demand]);
    for (const slot of tried) short.add(holders.get(slot) ?? demand);
    return explainShortage(short, tried);
  }
  return undefined;
}

/** Gives the demand a slot, if necessary by moving others. Recursion is as deep as the number of demands. @returns false if there is none */
function takeSlot(demand: CountedDemand, holders: Map<Slot, CountedDemand>, tried: Set<Slot>, spend: (steps: number) => void): boolean {
  spend(demand.slots.size);
  for (const slot of demand.slots)
    if (!holders.has(slot)) {
      holders.set(slot, demand);
      return true;
    }
  for (const slot of demand.slots) {
    if (tried.has(slot)) continue;
    tried.add(slot);
    const holder = holders.get(slot);
    if (holder && !takeSlot(holder, holders, tried, spend)) continue;
    holders.set(slot, demand);
    return true;
  }
  return false;
}

function explainShortage(short: ReadonlySet<CountedDemand>, slots: ReadonlySet<Slot>): Literal[] {
  const literals = new Set<Literal>();
  for (const { literal, excluded } of short) {
    literals.add(negate(literal));
    for (const [option, slot] of excluded) if (slot === undefined || !slots.has(slot)) literals.add(option);
  }
  for (const { label } of slots) if (label !== undefined) literals.add(negate(label));
  return [...literals];
}

/** Chooses demands without common options whose options have slots, and for each option the slot that the most demands share. */
function countDemands(
  demands: readonly Demand[],
  slotsOf: (option: Literal) => readonly Slot[],
  trail: Trail,
  { falseOptions, openOptions }: CountingRules,
  spend: (steps: number) => void,
): CountedDemand[] {
  const taken = new Set<Literal>();
  const sharing = new Map<Slot, number>();
  const chosen: { literal: Literal; options: readonly Literal[] }[] = [];
  const getSlots = (option: Literal): readonly Slot[] => slotsOf(option).filter(({ label }) => label === undefined || trail.isTrue(label));
  for (const { literal, options: all } of demands) {
    const options = all.filter((option) => !trail.isFalse(option) || trail.levelOf(option) > 0);
    spend(all.length);
    const isUnlimited = (option: Literal): boolean =>
      getSlots(option).length === 0 && (openOptions === "excluded" ? trail.isTrue(option) : !trail.isFalse(option));
    if (options.some((option) => taken.has(option) || isUnlimited(option))) continue;
    for (const option of options) if (getSlots(option).length > 0) taken.add(option);
    for (const slot of new Set(options.flatMap(getSlots))) sharing.set(slot, (sharing.get(slot) ?? 0) + 1);
    chosen.push({ literal, options });
  }
  return chosen.map(({ literal, options }) => {
    const slots = new Set<Slot>();
    const excluded = new Map<Literal, Slot | undefined>();
    for (const option of options) {
      let best: Slot | undefined;
      for (const slot of getSlots(option)) if (best === undefined || (sharing.get(slot) ?? 0) > (sharing.get(best) ?? 0)) best = slot;
      if (best !== undefined && (falseOptions === "possible" || !trail.isFalse(option))) slots.add(best);
      else excluded.set(option, best);
    }
    return { literal, slots, excluded };
  });
}
