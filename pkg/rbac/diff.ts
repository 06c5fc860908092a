import { isNothing, missingRules } from "./missing.ts";
import { ruleLines } from "./missingText.ts";
import type { RequiredRules } from "./rules.ts";
import { unionOf } from "./union.ts";

/** What changes from one set of rules to another. */
export interface RulesDiff {
  added: RequiredRules;
  removed: RequiredRules;
}

/** The rights that are only in `after`, and those that are only in `before`. */
export function diffRules(before: RequiredRules, after: RequiredRules): RulesDiff {
  return { added: unionOf([missingRules(after, before)]), removed: unionOf([missingRules(before, after)]) };
}

/** One line for each rule, "+ …" for what is added, then "- …" for what is removed; "no change" where there is neither. */
export function diffLines({ added, removed }: RulesDiff): string[] {
  if (isNothing(added) && isNothing(removed)) return ["no change"];
  const lines = (sign: string, rules: RequiredRules): string[] =>
    ruleLines(rules, Number.POSITIVE_INFINITY).map((line) => `${sign} ${line}`);
  return [...lines("+", added), ...lines("-", removed)];
}
