import { findDecisions, learnClause } from "./learning.ts";
import { type CountingRules, findShortage, type Slot } from "./shortage.ts";
import { type Clause, getVariable, isPositive, type Literal, negate, Propagation, Trail } from "./trail.ts";

/** Thrown if a search exceeds its step limit. */
export class OutOfSteps extends Error {
  override readonly name = "OutOfSteps";
  readonly steps: number;
  constructor(steps: number) {
    super(`no answer after ${steps} steps`);
    this.steps = steps;
  }
}

/** The number of steps for scanning a list is its length shifted right by this number, because scanning is cheaper than visiting a clause. */
const SCAN = 2;
/** Initial limit of learned clauses; when it is reached, the longer half is dropped and the limit grows by a tenth. */
const LEARNED = 4_000;
/** Number of conflicts before demands are counted; doubles each time that no shortage is found. */
const CONFLICTS_BEFORE_COUNT = 8;
/** Minimum number of steps between two counts without a shortage, for each step of the first of them. */
const STEPS_BETWEEN_COUNTS = 32;
/** Finds most shortages, but some clauses that it returns are useless. If it finds none, the other rules are not tried. */
const WIDEST_RULES: CountingRules = { falseOptions: "decided", openOptions: "excluded" };
/** How demands are counted, one after the other until there is a useful clause. A clause that does not depend on decisions excludes more. */
const RULES: readonly CountingRules[] = [
  { falseOptions: "possible", openOptions: "possible" },
  { falseOptions: "decided", openOptions: "possible" },
  { falseOptions: "possible", openOptions: "excluded" },
];

/**
 * A SAT solver (conflict-driven clause learning) for repeated searches under changing assumptions. A variable is true only if an assumption, a
 * clause, or its `options` require it. The meaning of a variable is added when it first becomes true, so unused variables cost nothing.
 * @see https://doi.org/10.1007/978-3-540-24605-3_37 Eén, Sörensson: An Extensible SAT-solver
 */
export class Search {
  readonly #trail = new Trail();
  readonly #propagation = new Propagation(this.#trail);
  #maxSteps: number;
  /** Adds the meaning of a variable with `addClause`, `addOptions` and the like; called once for each variable that becomes true. */
  readonly #explained: boolean[] = [];
  readonly #meaning: (() => void)[] = [];
  /** By variable: true if its meaning is a definition. */
  readonly #isDefinition: boolean[] = [];
  /** By variable: if the variable is true, at least one of these literals must be true. Best literal first. */
  readonly #options: (Literal[] | undefined)[] = [];
  /** By variable: the groups that contain it. */
  readonly #slots: (Slot[] | undefined)[] = [];
  #conflicts = 0;
  /** Numbers of conflicts and steps at which demands are counted next, and of conflicts until then from the last time. */
  #nextCount = CONFLICTS_BEFORE_COUNT;
  #countInterval = CONFLICTS_BEFORE_COUNT;
  #nextCountSteps = 0;
  /** Lengths of the explained part of the trail, and of the part whose options are fulfilled. */
  #explainedTo = 0;
  #fulfilledTo = 0;
  /** By level: `#fulfilledTo` at its start. */
  readonly #fulfilledAt: number[] = [];
  #assumptions: readonly Literal[] = [];
  #learned: Clause[] = [];
  #mostLearned = LEARNED;
  #impossible = false;
  #spent = 0;

  constructor(maxSteps: number) {
    this.#maxSteps = maxSteps;
  }

  /** Steps so far. */
  get steps(): number {
    return this.#spent + this.#propagation.steps;
  }

  /** Counts external work. @throws OutOfSteps */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.steps > this.#maxSteps) throw new OutOfSteps(this.steps);
  }

  /**
   * Allows this number of further steps after `OutOfSteps`. From then on, only conflicts are reliable: the interruption may have skipped clauses.
   */
  extend(steps: number): void {
    this.#maxSteps = this.steps + steps;
  }

  /** @param meaning called when the variable first becomes true @returns the positive literal */
  newVariable(meaning?: () => void): Literal {
    const variable = this.#trail.grow();
    this.#propagation.grow();
    if (meaning) this.#meaning[variable] = meaning;
    return variable * 2;
  }

  /** Like `newVariable`, for a meaning that only defines the variable by others, so that it may be added before the variable is true. */
  newDefinition(meaning: () => void): Literal {
    const literal = this.newVariable(meaning);
    this.#isDefinition[getVariable(literal)] = true;
    return literal;
  }

  /** Adds a constraint: at most one of the literals is true. All must be positive and new. */
  addAtMostOne(literals: readonly Literal[]): void {
    this.#propagation.addGroup(literals.map(getVariable));
    if (literals.length > 1) this.addSlot(literals, undefined);
  }

  /**
   * States that the clauses allow at most one of the literals to be true, so that the search can count how many of them are needed.
   * @param label the literal that enables these clauses; undefined if they are always enabled
   */
  addSlot(literals: readonly Literal[], label: Literal | undefined): void {
    const slot = { label };
    for (const literal of literals) {
      const known = this.#slots[getVariable(literal)];
      if (known) known.push(slot);
      else this.#slots[getVariable(literal)] = [slot];
    }
  }

  /** Adds a clause: if `literal` is true, one of `options` must be true. Prefers the first possible one. */
  addOptions(literal: Literal, options: readonly Literal[]): void {
    this.#options[getVariable(literal)] = [...options];
    this.addClause([negate(literal), ...options]);
  }

  /** Adds a clause: one of the literals is true. They may already be assigned: if all are false, backtracks until one is not. */
  addClause(given: readonly Literal[]): void {
    const trail = this.#trail;
    const literals = [...new Set(given)];
    this.spend(literals.length);
    const rank = (literal: Literal): number => (trail.isFalse(literal) ? trail.levelOf(literal) : Number.POSITIVE_INFINITY);
    for (const place of [0, 1])
      for (let i = place + 1; i < literals.length; i++) if (rank(literals[i] ?? 0) > rank(literals[place] ?? 0)) swap(literals, place, i);
    const [first, second] = literals;
    if (first === undefined || rank(first) === 0) {
      this.#impossible = true;
      return;
    }
    // If the others became false before the first one became true, they imply it: it must stay true after a backtrack to their level.
    const isImplied = trail.isTrue(first) && (second === undefined || rank(second) < trail.levelOf(first));
    this.#addWatched(literals, isImplied || trail.isFalse(first) ? Math.max(0, trail.levelOf(first) - 1) : trail.level);
  }

  /** Makes the literals true in all further searches. Cheaper than as many unit clauses, because it undoes all assignments first. */
  require(literals: readonly Literal[]): void {
    this.#backTo(0);
    for (const literal of literals) this.addClause([literal]);
  }

  /** Backtracks to `level`, at which the first literal is not false, and makes it true if all others are false. */
  #addWatched(literals: Literal[], level: number): Clause {
    const trail = this.#trail;
    const [first = 0, second] = literals;
    const clause = { literals, dropped: false };
    this.#backTo(level);
    if (second !== undefined) this.#propagation.watch(clause);
    if (second !== undefined && !trail.isFalse(second)) return clause;
    if (trail.isOpen(first)) trail.assign(first, clause, second === undefined ? 0 : trail.levelOf(second));
    return clause;
  }

  /**
   * Searches for an assignment in which all assumptions are true.
   * @returns the assumptions that cannot be true together, empty if the clauses alone conflict; undefined if an assignment was found, for
   * `trueLiterals`
   * @throws OutOfSteps
   */
  conflictOf(assumptions: readonly Literal[]): readonly Literal[] | undefined {
    let common = 0;
    while (common < assumptions.length && assumptions[common] === this.#assumptions[common]) common++;
    this.#backTo(common);
    this.#assumptions = assumptions;
    for (;;) {
      if (this.#impossible) return [];
      this.spend(1);
      const conflict = this.#propagation.run();
      if (conflict) this.#learn(conflict);
      else if (!this.#explain()) {
        const assumption = this.#nextAssumption();
        if (assumption !== undefined && this.#trail.isFalse(assumption)) return this.#behind(assumption);
        if (assumption === undefined && this.#conflicts >= this.#nextCount && this.steps >= this.#nextCountSteps) {
          if (this.#defineOptions()) continue;
          const shortage = this.#findShortage();
          if (shortage) {
            if (shortage.every((literal) => this.#trail.isFalse(literal))) this.#learn({ literals: shortage, dropped: true });
            else this.addClause(shortage);
            continue;
          }
        }
        const decision = assumption ?? this.#wantedOption();
        if (decision === undefined) return undefined;
        this.#beginLevel();
        this.#trail.assign(decision, undefined, this.#trail.level);
      }
    }
  }

  /** Adds the definitions of options that belong to no group, so that their own options can be counted. @returns whether there were any */
  #defineOptions(): boolean {
    const added = new Set<number>();
    for (const literal of this.#trail.literals) {
      const options = isPositive(literal) ? (this.#options[getVariable(literal)] ?? []) : [];
      this.#spent += options.length >> SCAN;
      for (const option of options) {
        const variable = getVariable(option);
        if (isPositive(option) && this.#isDefinition[variable] === true && this.#explained[variable] !== true) added.add(variable);
      }
    }
    for (const variable of added) {
      this.#explained[variable] = true;
      this.#meaning[variable]?.();
    }
    return added.size > 0;
  }

  /** Returns the options of an option that belongs to no group. */
  #expand(option: Literal): readonly Literal[] {
    const variable = getVariable(option);
    const options = isPositive(option) && this.#slots[variable] === undefined ? this.#options[variable] : undefined;
    return options ? options.flatMap((other) => this.#expand(other)) : [option];
  }

  /** Counts whether all demands can be met. @returns a clause with at most one literal that is not false; undefined if there is no shortage */
  #findShortage(): Literal[] | undefined {
    const trail = this.#trail;
    const started = this.steps;
    const demands = trail.literals.flatMap((literal) => {
      const options = isPositive(literal) ? this.#options[getVariable(literal)] : undefined;
      return options ? [{ literal, options: options.flatMap((option) => this.#expand(option)) }] : [];
    });
    this.#spent += trail.literals.length >> SCAN;
    const slotsOf = (option: Literal): readonly Slot[] => this.#slots[getVariable(option)] ?? [];
    const spend = (steps: number): void => this.spend(steps);
    const isPossible = findShortage(demands, slotsOf, trail, WIDEST_RULES, spend) !== undefined;
    const found = RULES.values()
      .filter(() => isPossible)
      .map((rules) => findShortage(demands, slotsOf, trail, rules, spend))
      .find((clause) => clause !== undefined && clause.filter((literal) => !trail.isFalse(literal)).length <= 1);
    this.#countInterval = found ? CONFLICTS_BEFORE_COUNT : this.#countInterval * 2;
    this.#nextCount = this.#conflicts + (found ? 0 : this.#countInterval);
    this.#nextCountSteps = this.steps + (found ? 0 : STEPS_BETWEEN_COUNTS * (this.steps - started));
    return found;
  }

  /** Returns the positive literals of the last assignment; valid until the next search or addition. */
  trueLiterals(): Literal[] {
    return this.#trail.literals.filter(isPositive);
  }

  /** Reports, without a search, whether `decisions` imply that the literal is false. */
  excludes(literal: Literal, decisions: ReadonlySet<Literal>): boolean {
    if (!this.#trail.isFalse(literal)) return false;
    this.#spent += this.#trail.literals.length >> SCAN;
    return [...findDecisions(negate(literal), this.#trail)].every((decision) => decisions.has(decision));
  }

  /** Explains one more true variable. @returns false if all are explained */
  #explain(): boolean {
    const { literals } = this.#trail;
    while (this.#explainedTo < literals.length) {
      const literal = literals[this.#explainedTo++] ?? 0;
      const variable = getVariable(literal);
      if (!isPositive(literal) || this.#explained[variable]) continue;
      this.#explained[variable] = true;
      this.#meaning[variable]?.();
      return true;
    }
    return false;
  }

  /** Returns the first assumption that is not yet true, and adds one level for each assumption that is. */
  #nextAssumption(): Literal | undefined {
    for (;;) {
      const assumption = this.#assumptions[this.#trail.level];
      if (assumption === undefined || !this.#trail.isTrue(assumption)) return assumption;
      this.#beginLevel();
    }
  }

  /** Returns the best open option of the first true variable without a true option. */
  #wantedOption(): Literal | undefined {
    const trail = this.#trail;
    for (; this.#fulfilledTo < trail.literals.length; this.#fulfilledTo++) {
      const literal = trail.literals[this.#fulfilledTo] ?? 0;
      const options = isPositive(literal) ? this.#options[getVariable(literal)] : undefined;
      if (options === undefined) continue;
      // Options that are false at level 0 stay false.
      while (options[0] !== undefined && trail.isFalse(options[0]) && trail.levelOf(options[0]) === 0) options.shift();
      this.#spent += options.length >> SCAN;
      if (options.some((option) => trail.isTrue(option))) continue;
      const first = options.find((option) => trail.isOpen(option));
      if (first !== undefined) return first;
    }
    return undefined;
  }

  #behind(assumption: Literal): Literal[] {
    if (this.#trail.levelOf(assumption) > 0) this.#spent += this.#trail.literals.length >> SCAN;
    return [assumption, ...findDecisions(negate(assumption), this.#trail)];
  }

  /**
   * Learns a clause from a conflict and backtracks by one level only: after a longer jump, the same decisions would follow again.
   * @see https://doi.org/10.1007/978-3-319-94144-8_7 Nadel, Ryvchin: Chronological Backtracking
   */
  #learn(conflict: Clause): void {
    this.#conflicts++;
    const trail = this.#trail;
    const latest = Math.max(...conflict.literals.map((literal) => trail.levelOf(literal)));
    if (latest === 0) {
      this.#impossible = true;
      return;
    }
    this.#backTo(latest);
    const literals = learnClause(conflict, trail);
    this.spend(literals.length);
    this.#learned.push(this.#addWatched(literals, latest - 1));
    if (this.#learned.length > this.#mostLearned) this.#forget();
  }

  /** Drops the longer half of the learned clauses, except those in use. */
  #forget(): void {
    const trail = this.#trail;
    const inUse = new Set(trail.literals.map((literal) => trail.reasonOf(literal)));
    const byLength = this.#learned.toSorted((a, b) => a.literals.length - b.literals.length);
    for (const clause of byLength.slice(byLength.length / 2)) clause.dropped = !inUse.has(clause);
    this.#learned = this.#learned.filter(({ dropped }) => !dropped);
    this.#mostLearned *= 1.1;
  }

  #beginLevel(): void {
    this.#fulfilledAt[this.#trail.level] = this.#fulfilledTo;
    this.#trail.beginLevel();
  }

  #backTo(level: number): void {
    if (level >= this.#trail.level) return;
    const kept = this.#trail.backTo(level);
    this.#propagation.rewind(kept);
    this.#explainedTo = Math.min(this.#explainedTo, kept);
    this.#fulfilledTo = this.#fulfilledAt[level] ?? 0;
  }
}

function swap(literals: Literal[], a: number, b: number): void {
  const kept = literals[a] ?? 0;
  literals[a] = literals[b] ?? 0;
  literals[b] = kept;
}
