import { compareText } from "../../api/compareText.ts";
import { enumerated, shownName, versionText } from "./bundlesText.ts";
import type { Problem, SolverBundle, Unit } from "./problem.ts";
import { type SolveOptions, solve } from "./solve.ts";

/** An installed package that would have to change. */
export interface Move {
  readonly from: SolverBundle;
  readonly to: SolverBundle;
}

/** Wanted bundles that are possible only when installed packages change too. */
export interface Deadlock {
  readonly wanted: readonly SolverBundle[];
  /** By name of package. */
  readonly moves: readonly Move[];
  /** True when nothing of it can be done alone, neither what is wanted nor the moves before it. */
  readonly isMutual: boolean;
  readonly sentence: string;
}

/**
 * Tells, when a problem cannot be solved with what is installed as it is, whether it could be with other candidates of installed packages.
 * @param problem installed units have, after what is installed, what they could change to.
 * @param current what is installed of the packages that are wanted; one without is new.
 * @returns undefined where nothing has to change, no change helps, or neither is known after so many steps.
 */
export function explainDeadlock(
  problem: Problem,
  current: ReadonlyMap<string, SolverBundle>,
  options?: SolveOptions,
): Deadlock | undefined {
  if (solve({ ...problem, units: problem.units.map(asItIs) }, options).kind !== "unsolvable") return undefined;
  const joint = solve(problem, options);
  if (joint.kind !== "solved") return undefined;
  const moves: Move[] = [];
  for (const { kind, packageName, candidates } of problem.units.toSorted((a, b) => compareText(a.packageName, b.packageName))) {
    const [from] = candidates;
    const to = joint.chosen.get(packageName);
    if (kind === "installed" && from && to && from !== to) moves.push({ from, to });
  }
  const wanted = problem.units.flatMap(({ kind, packageName }) => (kind === "wanted" ? (joint.chosen.get(packageName) ?? []) : []));
  const before = problem.units.map((unit) => beforehand(unit, moves, current));
  const isMutual = solve({ ...problem, units: before }, options).kind !== "solved";
  return { wanted, moves, isMutual, sentence: sentenceOf(wanted, moves, isMutual) };
}

function asItIs(unit: Unit): Unit {
  return unit.kind === "installed" ? { ...unit, candidates: unit.candidates.slice(0, 1) } : unit;
}

/** The unit when the moves are made and what is wanted is not there yet. */
function beforehand(unit: Unit, moves: readonly Move[], current: ReadonlyMap<string, SolverBundle>): Unit {
  const move = moves.find(({ from }) => from.packageName === unit.packageName);
  if (move) return { ...unit, candidates: [move.to] };
  if (unit.kind !== "wanted") return asItIs(unit);
  const installed = current.get(unit.packageName);
  return installed ? { ...unit, kind: "installed", candidates: [installed] } : { ...unit, kind: "offered", candidates: [] };
}

function sentenceOf(wanted: readonly SolverBundle[], moves: readonly Move[], isMutual: boolean): string {
  const subject = enumerated(wanted.map((bundle) => `${shownName(bundle.packageName)} ${versionText(bundle)}`));
  const changes = enumerated(moves.map(({ from, to }) => `${shownName(from.packageName)} from ${versionText(from)} to ${versionText(to)}`));
  const are = wanted.length === 1 ? "is" : "are";
  return isMutual
    ? `${subject} ${are} possible only with a change of ${changes} at the same time`
    : `${subject} ${are} possible after a change of ${changes}`;
}
