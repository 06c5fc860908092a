import { createTypeVariable, type StaticType } from "./types.ts";

/**
 * Maximum number of types to visit for one rule; handwritten rules visit about a thousand. The type of a nested value can grow exponentially with its
 * depth.
 */
const MAX_VISITS = 50_000;

/**
 * Decides which types can be used for which, and finds the types that variables stand for.
 * @see https://github.com/google/cel-go/blob/v0.26.0/checker/types.go
 */
export class TypeUnifier {
  readonly #substitutions = new Map<string, StaticType>();
  /** Earlier substitutions, to undo an attempt. */
  readonly #trail: [string, StaticType | undefined][] = [];
  #variables = 0;
  #visits = 0;

  /** Returns a variable that no other type contains. */
  createVariable(): StaticType {
    return createTypeVariable(`_var${this.#variables++}`);
  }

  /** Replaces the given variables in `types` with new ones, the same name with the same new variable. */
  instantiate(types: readonly StaticType[]): StaticType[] {
    const fresh = new Map<string, StaticType>();
    const replace = (type: StaticType): StaticType => {
      this.#visit();
      if (type.variable === undefined) return type.parameters.length === 0 ? type : { ...type, parameters: type.parameters.map(replace) };
      const known = fresh.get(type.variable) ?? this.createVariable();
      fresh.set(type.variable, known);
      return known;
    };
    return types.map(replace);
  }

  /** Replaces the variables in `type` that stand for a type. */
  substitute(type: StaticType): StaticType {
    this.#visit();
    const found = this.#find(type);
    if (found) return this.substitute(found);
    return type.parameters.length === 0 ? type : { ...type, parameters: type.parameters.map((part) => this.substitute(part)) };
  }

  /** Reports whether each of `types` can be used for its counterpart; if so, remembers what the variables stand for. */
  isAssignable(types: readonly StaticType[], targets: readonly StaticType[]): boolean {
    if (types.length !== targets.length) return false;
    const start = this.#trail.length;
    if (this.#areAssignable(types, targets)) return true;
    for (const [name, before] of this.#trail.splice(start).reverse()) {
      if (before) this.#substitutions.set(name, before);
      else this.#substitutions.delete(name);
    }
    return false;
  }

  /** Returns the more general of two types of which one can be used for the other. */
  generalize(left: StaticType, right: StaticType): StaticType {
    return this.#isLessSpecific(left, right) ? left : right;
  }

  /** Reports whether two types are the same, including their variables. */
  isSame(left: StaticType, right: StaticType): boolean {
    this.#visit();
    if (left === right) return true;
    if (left.kind !== right.kind || left.variable !== right.variable || left.parameters.length !== right.parameters.length) return false;
    return left.parameters.every((part, i) => this.isSame(part, right.parameters[i] as StaticType));
  }

  #visit(): void {
    if (++this.#visits > MAX_VISITS) throw new Error("the types of its expressions are too complex");
  }

  #find({ variable }: StaticType): StaticType | undefined {
    return variable === undefined ? undefined : this.#substitutions.get(variable);
  }

  #set({ variable }: StaticType, type: StaticType): void {
    if (variable === undefined) return;
    this.#trail.push([variable, this.#substitutions.get(variable)]);
    this.#substitutions.set(variable, type);
  }

  #areAssignable(types: readonly StaticType[], targets: readonly StaticType[]): boolean {
    return types.length === targets.length && types.every((type, i) => this.#canAssign(type, targets[i] as StaticType));
  }

  #canAssign(type: StaticType, target: StaticType): boolean {
    this.#visit();
    if (target.kind === "variable") {
      const wasBound = this.#find(target) !== undefined;
      if (this.#canSubstitute(type, target)) return true;
      if (wasBound) return false;
    }
    if (type.kind === "variable") return this.#canSubstitute(target, type);
    if (isDynamic(type) || isDynamic(target)) return true;
    if (type.kind === "null") return isNullable(target);
    if (target.kind === "null") return isNullable(type);
    if (type.kind !== target.kind) return false;
    return type.kind === "type" || this.#areAssignable(type.parameters, target.parameters);
  }

  /** Reports whether `variable` can stand for `type`; if so, remembers it. */
  #canSubstitute(type: StaticType, variable: StaticType): boolean {
    if (this.isSame(type, variable)) return true;
    const known = this.#find(variable);
    if (!known) {
      if (this.#contains(type, variable)) return false;
      this.#set(variable, type);
      return true;
    }
    if (this.isSame(type, known)) return true;
    if (!this.#canAssign(type, known)) return false;
    const general = this.generalize(type, known);
    if (!this.#contains(general, variable)) this.#set(variable, general);
    return true;
  }

  /** Reports whether `variable` is `type` or occurs in it, directly or through substitutions. */
  #contains(type: StaticType, variable: StaticType): boolean {
    if (this.isSame(type, variable)) return true;
    const known = this.#find(type);
    return known ? this.#contains(known, variable) : type.parameters.some((part) => this.#contains(part, variable));
  }

  #isLessSpecific(left: StaticType, right: StaticType): boolean {
    this.#visit();
    if (isDynamic(left) || left.kind === "variable") return true;
    if (isDynamic(right) || right.kind === "variable" || left.kind !== right.kind) return false;
    return left.kind === "type" || left.parameters.every((part, i) => this.#isLessSpecific(part, right.parameters[i] as StaticType));
  }
}

/** Reports whether values of the type have a type that is known only when the rule is evaluated. */
export function isDynamic({ kind }: StaticType): boolean {
  return kind === "dyn" || kind === "any";
}

function isNullable({ kind }: StaticType): boolean {
  return kind === "null" || kind === "duration" || kind === "timestamp";
}
