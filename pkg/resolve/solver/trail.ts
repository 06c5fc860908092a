/** A variable `v` that is true is written `2 * v`, one that is false `2 * v + 1`. */
export type Literal = number;

/** At least one of the literals is true. The first two are watched: clauses are looked at only when one of these becomes false. */
export interface Clause {
  readonly literals: Literal[];
  /** Taken out of the search; watchers forget it when they come across it. */
  dropped: boolean;
}

/** Why a literal is true: the clause in which all others are false, or the one literal that excludes its opposite. */
export type Antecedent = Clause | Literal;

/** The literal of which exactly one is true with `literal`. */
export function negate(literal: Literal): Literal {
  return literal ^ 1;
}

/** The variable of a literal. */
export function variableOf(literal: Literal): number {
  return literal >> 1;
}

/** Whether the literal says that its variable is true. */
export function isPositive(literal: Literal): boolean {
  return (literal & 1) === 0;
}

/**
 * What is assigned, in order of time. Each decision begins a level; a literal is of the level of the latest decision that it follows from, though it
 * may come later, and of level 0 if it follows from none.
 */
export class Trail {
  /** All literals that are true. */
  readonly literals: Literal[] = [];
  /** By literal: 1 true, -1 false, 0 neither. */
  readonly #values: number[] = [];
  /** By variable. */
  readonly #levels: number[] = [];
  readonly #reasons: (Antecedent | undefined)[] = [];
  /** How long the trail was when each level began. */
  readonly #starts: number[] = [];

  /** @returns the new variable, assigned nothing. */
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

  /** The level at which the literal's variable was assigned; of no meaning for one that is open. */
  levelOf(literal: Literal): number {
    return this.#levels[variableOf(literal)] ?? 0;
  }

  /** Undefined for a decision, and for what was given. */
  reasonOf(literal: Literal): Antecedent | undefined {
    return this.#reasons[variableOf(literal)];
  }

  /** @param level of the latest literal that the reason names, which may be earlier than the current one. */
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

  /** Takes back what is of levels after `level`; what is not, but came later, then stands at the end. @returns how much was left as it was. */
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

/** What must hold: clauses, and groups of variables of which one at most is true. It draws what follows from what is assigned. */
export class Propagation {
  readonly #trail: Trail;
  /** By literal: the clauses that watch it. */
  readonly #watches: Clause[][] = [];
  /** By variable: the groups it is in. */
  readonly #groups: (readonly number[])[][] = [];
  /** How much of the trail was looked at. */
  #head = 0;
  /** How many clauses and members of groups were looked at so far. */
  steps = 0;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  /** Makes room for one more variable. */
  grow(): void {
    this.#watches.push([], []);
    this.#groups.push([]);
  }

  /** Tells how much of the trail is as it was. */
  rewind(kept: number): void {
    this.#head = Math.min(this.#head, kept);
  }

  /** @param clause has two literals at least; the first two are not false, or were the last to become so. */
  watch(clause: Clause): void {
    for (const literal of clause.literals.slice(0, 2)) this.#watches[literal]?.push(clause);
  }

  /** @param variables none of them is true. */
  addGroup(variables: readonly number[]): void {
    for (const variable of variables) this.#groups[variable]?.push(variables);
  }

  /** Assigns what follows. @returns a clause that cannot hold any more. */
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
    for (const group of this.#groups[variableOf(literal)] ?? []) {
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

  /** The latest level of the literals after the first. */
  #latest(literals: readonly Literal[]): number {
    let latest = 0;
    for (let i = 1; i < literals.length; i++) latest = Math.max(latest, this.#trail.levelOf(literals[i] ?? 0));
    return latest;
  }

  /** Puts `falsified` second; where the first is not true, another literal takes the watch over if one is not false. */
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
