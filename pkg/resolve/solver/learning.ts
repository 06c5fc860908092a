import { type Antecedent, type Clause, getVariable, type Literal, negate, type Trail } from "./trail.ts";

/** Yields the true literals that together made `implied` true. */
function* listCauses(implied: Literal, reason: Antecedent): Generator<Literal> {
  if (typeof reason === "number") yield reason;
  else for (const literal of reason.literals) if (literal !== implied) yield negate(literal);
}

/**
 * Derives a clause from a conflict at the current level. Its first literal was assigned at that level, its second at the latest of the earlier
 * levels. The clause follows from all clauses. After backtracking to the level of the second literal, it makes the first one true.
 * @param conflict a clause whose literals are all false, at least two of them at the current level
 */
export function learnClause(conflict: Clause, trail: Trail): Literal[] {
  const seen = new Set<number>();
  const earlier: Literal[] = [];
  let open = 0;
  const note = (cause: Literal): void => {
    const variable = getVariable(cause);
    const level = trail.levelOf(cause);
    if (level === 0 || seen.has(variable)) return;
    seen.add(variable);
    if (level === trail.level) open++;
    else earlier.push(negate(cause));
  };
  for (const literal of conflict.literals) note(negate(literal));
  for (let index = trail.literals.length - 1; ; index--) {
    const literal = trail.literals[index];
    if (literal === undefined) throw new Error("the conflict is not of the current level");
    if (trail.levelOf(literal) !== trail.level || !seen.has(getVariable(literal))) continue;
    const reason = trail.reasonOf(literal);
    if (--open === 0 || reason === undefined) return ordered(negate(literal), shortened(earlier, seen, trail), trail);
    for (const cause of listCauses(literal, reason)) note(cause);
  }
}

/** Removes literals that follow from other literals in the list. */
function shortened(literals: readonly Literal[], seen: ReadonlySet<number>, trail: Trail): Literal[] {
  return literals.filter((literal) => {
    const reason = trail.reasonOf(literal);
    if (reason === undefined) return true;
    for (const cause of listCauses(negate(literal), reason)) if (trail.levelOf(cause) > 0 && !seen.has(getVariable(cause))) return true;
    return false;
  });
}

function ordered(first: Literal, others: Literal[], trail: Trail): Literal[] {
  let latest = 0;
  others.forEach((literal, index) => {
    if (trail.levelOf(literal) > trail.levelOf(others[latest] ?? literal)) latest = index;
  });
  const second = others[latest];
  return second === undefined ? [first] : [first, second, ...others.toSpliced(latest, 1)];
}

/** Returns the decisions that made `literal` true, including itself if it was decided. */
export function findDecisions(literal: Literal, trail: Trail): Set<Literal> {
  const seen = new Set([getVariable(literal)]);
  const decisions = new Set<Literal>();
  if (trail.levelOf(literal) === 0) return decisions;
  for (let index = trail.literals.length - 1; index >= 0; index--) {
    const implied = trail.literals[index] ?? 0;
    if (!seen.has(getVariable(implied)) || trail.levelOf(implied) === 0) continue;
    const reason = trail.reasonOf(implied);
    if (reason === undefined) decisions.add(implied);
    else for (const cause of listCauses(implied, reason)) seen.add(getVariable(cause));
  }
  return decisions;
}
