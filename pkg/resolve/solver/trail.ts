/** A literal: `2 * v` for variable `v`, and `2 * v + 1` for its negation. */
export type Literal = number;

/** A clause: at least one of the literals must be true. The first two are watched: the clause is visited only if one of them becomes false. */
export interface Clause {
  readonly literals: Literal[];
  /** Removed from the search; watchers skip it. */
  dropped: boolean;
}

/** Why a literal is true: a clause whose other literals are all false, or a true literal that excludes the negation. */
export type Antecedent = Clause | Literal;

/** Returns the opposite literal. */
export function negate(literal: Literal): Literal {
  return literal ^ 1;
}

/** Returns the variable of a literal. */
export function getVariable(literal: Literal): number {
  return literal >> 1;
}

/** Reports whether the literal is positive. */
export function isPositive(literal: Literal): boolean {
  return (literal & 1) === 0;
}

/**
 * The assignments in chronological order. Each decision begins a level. The level of a literal is that of the latest decision that it follows from,
 * even if it was assigned at a later level, and 0 if it does not depend on a decision.
 */
export class Trail {
  /** All true literals. */
  readonly literals: Literal[] = [];
  /** By literal: 1 if true, -1 if false, 0 if unassigned. */
  readonly #values: number[] = [];
  /** By variable. */
  readonly #levels: number[] = [];
  readonly #reasons: (Antecedent | undefined)[] = [];
  /** Length of the trail at the start of each level. */
  readonly #starts: number[] = [];

  /** @returns the new, unassigned variable */
  grow(): number {
    this.#values.push(0, 0);
    this.#reasons.push(undefined);
    return this.#levels.push(0) - 1;
  }

  get level(): number {
    return this.#starts.length;
  }

  isTrue(literal: Literal): boolean {
    return this.#values[literal] === 1;
  }

  isFalse(literal: Literal): boolean {
    return this.#values[literal] === -1;
  }

  isOpen(literal: Literal): boolean {
    return this.#values[literal] === 0;
  }

  /** Returns the level at which the literal's variable was assigned; meaningless for an open one. */
  levelOf(literal: Literal): number {
    return this.#levels[getVariable(literal)] ?? 0;
  }

  /** Undefined for a decision and for given literals. */
  reasonOf(literal: Literal): Antecedent | undefined {
    return this.#reasons[getVariable(literal)];
  }

  /** @param level level of the latest literal in the reason, which may be earlier than the current one */
  assign(literal: Literal, reason: Antecedent | undefined, level: number): void {
    this.#values[literal] = 1;
    this.#values[literal ^ 1] = -1;
    this.#levels[literal >> 1] = level;
    this.#reasons[literal >> 1] = reason;
    this.literals.push(literal);
  }

  beginLevel(): void {
    this.#starts.push(this.literals.length);
  }

  /**
   * Removes the assignments of levels after `level` and moves later ones of earlier levels to the end. @returns the length of the unchanged part
   */
  backTo(level: number): number {
    const start = this.#starts[level] ?? this.literals.length;
    const later: Literal[] = [];
    for (let i = start; i < this.literals.length; i++) {
      const literal = this.literals[i] ?? 0;
      if ((this.#levels[literal >> 1] ?? 0) <= level) {
        later.push(literal);
        continue;
      }
      this.#values[literal] = 0;
      this.#values[literal ^ 1] = 0;
      this.#reasons[literal >> 1] = undefined;
    }
    this.literals.length = start;
    this.#starts.length = Math.min(level, this.#starts.length);
    for (const literal of later) this.literals.push(literal);
    return start;
  }
}

/** The clauses, and groups of variables of which at most one may be true. Derives the consequences of assignments. */
export class Propagation {
  readonly #trail: Trail;
  /** By literal: clauses that watch it. */
  readonly #watches: Clause[][] = [];
  /** By variable: groups that contain it. */
  readonly #groups: (readonly number[])[][] = [];
  /** Length of the processed part of the trail. */
  #head = 0;
  /** Number of visited clauses and group members. */
  steps = 0;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  /** Makes room for one more variable. */
  grow(): void {
    this.#watches.push([], []);
    this.#groups.push([]);
  }

  /** Sets the length of the unchanged part of the trail after backtracking. */
  rewind(kept: number): void {
    this.#head = Math.min(this.#head, kept);
  }

  /** @param clause at least two literals; the first two are not false, or were the last to become false */
  watch(clause: Clause): void {
    for (const literal of clause.literals.slice(0, 2)) this.#watches[literal]?.push(clause);
  }

  /** @param variables none of them is true */
  addGroup(variables: readonly number[]): void {
    for (const variable of variables) this.#groups[variable]?.push(variables);
  }

  /** Assigns consequences. @returns a clause that can no longer be true */
  run(): Clause | undefined {
    const { literals } = this.#trail;
    while (this.#head < literals.length) {
      const literal = literals[this.#head++] ?? 0;
      const conflict = this.#exclude(literal) ?? this.#follow(negate(literal));
      if (conflict) return conflict;
    }
    return undefined;
  }

  #exclude(literal: Literal): Clause | undefined {
    if ((literal & 1) === 1) return undefined;
    const trail = this.#trail;
    for (const group of this.#groups[getVariable(literal)] ?? []) {
      this.steps += group.length;
      for (const variable of group) {
        const other = variable * 2;
        if (other === literal || trail.isFalse(other)) continue;
        if (trail.isTrue(other)) return { literals: [negate(literal), negate(other)], dropped: true };
        trail.assign(negate(other), literal, trail.levelOf(literal));
      }
    }
    return undefined;
  }

  #follow(falsified: Literal): Clause | undefined {
    const trail = this.#trail;
    const watching = this.#watches[falsified] ?? [];
    let kept = 0;
    let conflict: Clause | undefined;
    for (const clause of watching) {
      if (clause.dropped) continue;
      if (conflict !== undefined || !this.#moveWatch(clause.literals, falsified, clause)) watching[kept++] = clause;
      else continue;
      const first = clause.literals[0] ?? 0;
      if (conflict !== undefined || trail.isTrue(first)) continue;
      if (trail.isFalse(first)) conflict = clause;
      else trail.assign(first, clause, this.#latest(clause.literals));
    }
    this.steps += watching.length;
    watching.length = kept;
    return conflict;
  }

  /** Returns the latest level of the literals after the first. */
  #latest(literals: readonly Literal[]): number {
    let latest = 0;
    for (let i = 1; i < literals.length; i++) latest = Math.max(latest, this.#trail.levelOf(literals[i] ?? 0));
    return latest;
  }

  /** Moves `falsified` to second place; unless the first literal is true, another one that is not false takes over the watch. */
  #moveWatch(literals: Literal[], falsified: Literal, clause: Clause): boolean {
    const trail = this.#trail;
    if (literals[0] === falsified) {
      literals[0] = literals[1] ?? 0;
      literals[1] = falsified;
    }
    if (trail.isTrue(literals[0] ?? 0)) return false;
    for (let i = 2; i < literals.length; i++) {
      const other = literals[i] ?? 0;
      if (trail.isFalse(other)) continue;
      literals[1] = other;
      literals[i] = falsified;
      this.#watches[other]?.push(clause);
      this.steps += i >> 2;
      return true;
    }
    this.steps += literals.length >> 2;
    return false;
  }
}
