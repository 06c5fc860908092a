import type { RuleList, RuleRisk, RuleRow } from "../../consoleapi/rules.ts";
import type { JudgedRule } from "../../permissions/judgePermissions.ts";
import { findRiskClass, type RiskClass } from "../../permissions/riskClasses.ts";
import { formatRule, groupByScope, type PlacedRule } from "../../rollout/placedRules.ts";
import { truncate } from "../../text/truncate.ts";

/** Maximum number of rules in a list. */
const RULES_MAX = 500;
const TEXT_MAX = 2_000;

/** A rule to show. */
export interface ShownRule extends PlacedRule {
  readonly outcome?: JudgedRule["outcome"];
  readonly risk?: RiskClass | undefined;
}

/**
 * Returns rules as rows: grouped by scope, those with a risk first, then the broadest; at most 500.
 * @param isComplete whether to show each rule completely, however long it is, because the user can approve it.
 */
export function buildRuleList(rules: readonly ShownRule[], isComplete = false): RuleList {
  let room = RULES_MAX;
  const scopes = groupByScope(rules).map(({ namespace, rules: own }) => {
    const shown = own.toSorted((a, b) => rankRisk(a) - rankRisk(b)).slice(0, Math.max(room, 0));
    room -= shown.length;
    return { namespace, rules: shown.map((rule) => toRuleRow(rule, isComplete)) };
  });
  return { count: rules.length, scopes: scopes.filter((scope) => scope.rules.length > 0) };
}

function rankRisk({ risk }: ShownRule): number {
  if (!risk) return 2;
  return risk.level === "RootEquivalent" ? 0 : 1;
}

function toRuleRow({ rule, outcome, risk, note }: ShownRule, isComplete: boolean): RuleRow {
  return {
    text: isComplete ? formatRule(rule, true) : truncate(formatRule(rule), TEXT_MAX),
    ...(outcome ? { outcome } : {}),
    ...(risk ? { risk: toRuleRisk(risk) } : {}),
    ...(note === undefined ? {} : { note: truncate(note, TEXT_MAX) }),
  };
}

/** Describes a risk class. */
export function toRuleRisk({ name, level, reason }: RiskClass): RuleRisk {
  return { name, level, meaning: `A holder ${reason}.` };
}

/** Returns decided rules as rules to show. */
export function toShownRules(judged: readonly JudgedRule[]): ShownRule[] {
  return judged.map(({ namespace, rule, outcome, risk }) => ({ namespace, rule, outcome, risk }));
}

/** Returns a rule with the risk class of this name. */
export function withRisk(rule: PlacedRule, risk: string | undefined): ShownRule {
  return { ...rule, risk: findRiskClass(risk) };
}
