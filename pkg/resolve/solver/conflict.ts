import { type Clause, type Literal, negated, type Reason, type Trail, variableOf } from "./trail.ts";

/** The literals that were true and together made `implied` true. */
function* causesOf(implied: Literal, reason: Reason): Generator<Literal> {
  if (typeof reason === "number") yield reason;
  else for (const literal of reason.literals) if (literal !== implied) yield negated(literal);
}

/**
 * What a conflict at the current level teaches: a clause with one literal of that level, which comes first, and the others of earlier levels, the
 * latest of them second. It follows from all clauses, and after going back to the second's level it makes the first true.
 * @param conflict a clause whose literals are all false, two of them at least at the current level.
 */
export function learnedFrom(conflict: Clause, trail: Trail): Literal[] {
  const seen = new Set<number>();
  const earlier: Literal[] = [];
  let open = 0;
  const note = (cause: Literal): void => {
    const variable = variableOf(cause);
    const level = trail.levelOf(cause);
    if (level === 0 || seen.has(variable)) return;
    seen.add(variable);
    if (level === trail.level) open++;
    else earlier.push(negated(cause));
  };
  for (const literal of conflict.literals) note(negated(literal));
  for (let index = trail.literals.length - 1; ; index--) {
    const literal = trail.literals[index];
    if (literal === undefined) throw new Error("the conflict is not of the current level");
    if (trail.levelOf(literal) !== trail.level || !seen.has(variableOf(literal))) continue;
    const reason = trail.reasonOf(literal);
    if (--open === 0 || reason === undefined) return ordered(negated(literal), shortened(earlier, seen, trail), trail);
    for (const cause of causesOf(literal, reason)) note(cause);
  }
}

/** Without the literals that follow from others among them. */
function shortened(literals: readonly Literal[], seen: ReadonlySet<number>, trail: Trail): Literal[] {
  return literals.filter((literal) => {
    const reason = trail.reasonOf(literal);
    if (reason === undefined) return true;
    for (const cause of causesOf(negated(literal), reason)) if (trail.levelOf(cause) > 0 && !seen.has(variableOf(cause))) return true;
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

/** The decisions that made `literal` true; itself among them when it was decided. */
export function decisionsBehind(literal: Literal, trail: Trail): Set<Literal> {
  const seen = new Set([variableOf(literal)]);
  const decisions = new Set<Literal>();
  if (trail.levelOf(literal) === 0) return decisions;
  for (let index = trail.literals.length - 1; index >= 0; index--) {
    const implied = trail.literals[index] ?? 0;
    if (!seen.has(variableOf(implied)) || trail.levelOf(implied) === 0) continue;
    const reason = trail.reasonOf(implied);
    if (reason === undefined) decisions.add(implied);
    else for (const cause of causesOf(implied, reason)) seen.add(variableOf(cause));
  }
  return decisions;
}
