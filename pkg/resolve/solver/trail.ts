/** A variable `v` that is true is written `2 * v`, one that is false `2 * v + 1`. */
export type Literal = number;

/** At least one of the literals is true. The first two are watched: clauses are looked at only when one of these becomes false. */
export interface Clause {
  readonly literals: Literal[];
  /** Taken out of the search; watchers forget it when they come across it. */
  dropped: boolean;
}

/** Why a literal is true: the clause in which all others are false, or the one literal that excludes its opposite. */
export type Reason = Clause | Literal;

/** The literal of which exactly one is true with `literal`. */
export function negated(literal: Literal): Literal {
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
  readonly #reasons: (Reason | undefined)[] = [];
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
  reasonOf(literal: Literal): Reason | undefined {
    return this.#reasons[variableOf(literal)];
  }

  /** @param level of the latest literal that the reason names, which may be earlier than the current one. */
  assign(literal: Literal, reason: Reason | undefined, level: number): void {
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
