import { array, assert, constantFrom, property, record, uniqueArray } from "fast-check";
import { expect, test } from "vitest";
import { type Demand, findShortage, type Slot } from "./shortage.ts";
import { getVariable, isPositive, type Literal, negate, Trail } from "./trail.ts";

/** Options 0 to 5, demands 6 to 9, labels 10 and 11. */
const OPTIONS = [0, 1, 2, 3, 4, 5].map((variable) => variable * 2);
const DEMANDS = [6, 7, 8, 9].map((variable) => variable * 2);
const LABELS = [10, 11].map((variable) => variable * 2);
const VARIABLES = 12;

interface Group {
  readonly literals: readonly Literal[];
  readonly label: Literal | undefined;
}

const problems = record({
  demands: array(uniqueArray(constantFrom(...OPTIONS), { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
  groups: array(
    record({
      literals: uniqueArray(constantFrom(...OPTIONS), { minLength: 2, maxLength: 5 }),
      label: constantFrom(undefined, ...LABELS),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  /** Options that a decision made false, and labels that are true. */
  excluded: uniqueArray(constantFrom(...OPTIONS), { maxLength: 2 }),
  enabled: uniqueArray(constantFrom(...LABELS)),
  falseOptions: constantFrom("possible" as const, "decided" as const),
  openOptions: constantFrom("possible" as const, "excluded" as const),
});

/** Reports whether an assignment agrees with all demands and groups. Bit v is the value of variable v. */
function agrees(bits: number, demands: readonly Demand[], groups: readonly Group[]): boolean {
  const isTrue = (literal: Literal): boolean => ((bits >> getVariable(literal)) & 1) === (isPositive(literal) ? 1 : 0);
  return (
    demands.every(({ literal, options }) => !isTrue(literal) || options.some(isTrue)) &&
    groups.every(({ literals, label }) => (label !== undefined && !isTrue(label)) || literals.filter(isTrue).length <= 1)
  );
}

test("findShortage returns a clause that follows from demands and groups and that excludes the assignment", () => {
  let found = 0;
  assert(
    property(problems, ({ demands: optionLists, groups, excluded, enabled, ...rules }) => {
      const trail = new Trail();
      for (let variable = 0; variable < VARIABLES; variable++) trail.grow();
      const demands = optionLists.map((options, index): Demand => ({ literal: DEMANDS[index] ?? 0, options }));
      trail.beginLevel();
      for (const literal of [...demands.map((demand) => demand.literal), ...enabled, ...excluded.map(negate)])
        trail.assign(literal, undefined, 1);
      const slots = new Map(groups.map((group): [Group, Slot] => [group, { label: group.label }]));
      const slotsOf = (option: Literal): Slot[] =>
        groups.filter(({ literals }) => literals.includes(option)).flatMap((group) => slots.get(group) ?? []);
      const clause = findShortage(demands, slotsOf, trail, rules, () => {});
      if (!clause) return;
      found++;
      expect(clause.every((literal) => trail.isFalse(literal) || rules.openOptions === "excluded")).toBe(true);
      expect(clause.some((literal) => trail.isTrue(literal))).toBe(false);
      const isTrueIn = (bits: number): boolean =>
        clause.some((literal) => ((bits >> getVariable(literal)) & 1) === (isPositive(literal) ? 1 : 0));
      for (let bits = 0; bits < 1 << VARIABLES; bits++) if (!isTrueIn(bits)) expect(agrees(bits, demands, groups)).toBe(false);
    }),
    { numRuns: 1_500 },
  );
  expect(found).toBeGreaterThan(20);
});
