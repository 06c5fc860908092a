import type { Conversions } from "../../cel/evaluator.ts";
import type { Call, Comprehension, Expr } from "../../cel/ruleText.ts";
import { goQuote } from "../../golang/quote.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { createListType, createMapType, FUNCTIONS, formatType, IDENTIFIERS, MIXED_COMPARISONS, SCALARS, type StaticType } from "./types.ts";
import { isDynamic, TypeUnifier } from "./typeUnifier.ts";

type Constant = Extract<Expr["exprKind"], { case: "constExpr" }>["value"];
type Scope = ReadonlyMap<string, StaticType>;

const { BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, UINT } = SCALARS;
const INT_BITS = 64;
const CONVERSIONS: ReadonlySet<string> = new Set(["bool", "bytes", "double", "int", "string", "uint"]);
/** Functions of times and durations. Properties contain neither, and time zones are expensive. */
const TIME = /^(?:timestamp|duration|get(?:Date|Day|Full|Hours|Milli|Minutes|Month|Seconds)\w*)$/;

/** A type error, with the id of the expression that causes it. */
export class TypeCheckError extends Error {
  override readonly name = "TypeCheckError";
  readonly expression: bigint;

  constructor(message: string, expression: bigint) {
    super(message);
    this.expression = expression;
  }
}

/**
 * Checks the types of one rule as cel-go does with the declarations of OLM v0. The type of a property's value is not known, so that every operation
 * accepts it. The library has no type checker for whole rules.
 * @see https://github.com/google/cel-go/blob/v0.26.0/checker/checker.go
 */
export class TypeChecker {
  readonly #unifier = new TypeUnifier();
  readonly #conversions = new Map<bigint, string>();
  /** Types of the variables that the rule uses, by the id of the use. */
  readonly #variables = new Map<bigint, StaticType>();
  #hasLoop = false;

  /**
   * Returns how the rule's conversions are evaluated.
   * @throws TypeCheckError for undeclared names, unsuitable types and constants out of range. @throws Error if the result is not of type bool.
   */
  checkRule(root: Expr): Conversions {
    const type = this.#unifier.substitute(this.#check(root, IDENTIFIERS));
    // cel-go takes such a variable for the name of a type.
    for (const [id, variable] of this.#variables)
      if (this.#unifier.substitute(variable).kind === "type") throw new TypeCheckError("a variable cannot be a type", id);
    if (type.kind !== "bool") throw new Error("the rule does not return a bool");
    return this.#conversions;
  }

  #check(expr: Expr | undefined, scope: Scope): StaticType {
    if (!expr) throw new Error("the rule is incomplete");
    const { exprKind, id } = expr;
    switch (exprKind.case) {
      case "constExpr":
        return getConstantType(exprKind.value, id);
      case "identExpr":
        return this.#lookUp(exprKind.value.name, scope, id);
      case "selectExpr":
        return this.#checkSelection(this.#check(exprKind.value.operand, scope), exprKind.value.testOnly, id);
      case "callExpr":
        return this.#checkCall(exprKind.value, scope, id);
      case "listExpr":
        return this.#checkList(exprKind.value.elements, scope);
      case "structExpr":
        return this.#checkMap(exprKind.value, scope, id);
      case "comprehensionExpr":
        return this.#checkLoop(exprKind.value, scope);
      case undefined:
      default:
        throw new TypeCheckError("unknown kind of expression", id);
    }
  }

  #lookUp(name: string, scope: Scope, id: bigint): StaticType {
    const plain = name.replace(/^\./, "");
    const type = scope.get(plain);
    if (!type) throw new TypeCheckError(formatUndeclared(name), id);
    if (type !== IDENTIFIERS.get(plain)) this.#variables.set(id, type);
    return type;
  }

  #checkSelection(operand: StaticType, isTest: boolean, id: bigint): StaticType {
    const type = this.#unifier.substitute(operand);
    if (type.kind === "variable") this.#unifier.isAssignable([DYN], [type]);
    else if (type.kind !== "map" && !isDynamic(type))
      throw new TypeCheckError(`type '${formatType(type)}' does not support field selection`, id);
    if (isTest) return BOOL;
    return type.kind === "map" ? this.#unifier.substitute(type.parameters[1] ?? DYN) : DYN;
  }

  #checkMap(map: Extract<Expr["exprKind"], { case: "structExpr" }>["value"], scope: Scope, id: bigint): StaticType {
    if (map.messageName !== "") throw new TypeCheckError(formatUndeclared(map.messageName), id);
    let keys: StaticType | undefined;
    let values: StaticType | undefined;
    for (const { keyKind, value } of map.entries) {
      keys = this.#join(keys, this.#check(keyKind.case === "mapKey" ? keyKind.value : undefined, scope));
      values = this.#join(values, this.#check(value, scope));
    }
    return createMapType(keys ?? this.#unifier.createVariable(), values ?? this.#unifier.createVariable());
  }

  #checkList(elements: readonly Expr[], scope: Scope): StaticType {
    let joined: StaticType | undefined;
    for (const element of elements) joined = this.#join(joined, this.#check(element, scope));
    return createListType(joined ?? this.#unifier.createVariable());
  }

  /** Returns the type of members of two types; `dyn` if they are different. */
  #join(joined: StaticType | undefined, type: StaticType): StaticType {
    if (!joined) return type;
    return this.#unifier.isAssignable([joined], [type]) ? this.#unifier.generalize(joined, type) : DYN;
  }

  #checkCall({ function: name, target, args }: Call, scope: Scope, id: bigint): StaticType {
    const types = args.map((arg) => this.#check(arg, scope));
    if (target) types.unshift(this.#check(target, scope));
    const overloads = FUNCTIONS.get(name);
    if (!overloads)
      throw new TypeCheckError(TIME.test(name) ? `function ${goQuote(name)} is not supported in rules` : formatUndeclared(name), id);
    // The parser joins `a && b && c` into one call.
    if ((name === "_&&_" || name === "_||_") && !target) return this.#checkOperands(types, args);
    let result: StaticType | undefined;
    const accepted: StaticType[] = [];
    for (const overload of overloads) {
      if (overload.isMethod !== (target !== undefined) || (!this.#hasLoop && MIXED_COMPARISONS.has(overload))) continue;
      const [returned = DYN, ...parameters] = this.#unifier.instantiate([overload.result, ...overload.parameters]);
      if (!this.#unifier.isAssignable(types, parameters)) continue;
      accepted.push(...overload.parameters);
      const found = this.#unifier.substitute(returned);
      if (!result) result = found;
      else if (!isDynamic(result) && !this.#unifier.isSame(found, result)) result = DYN;
    }
    if (result) {
      if (name === "_[_]") checkIndex(args[1], scope);
      if (CONVERSIONS.has(name) && accepted.length === 1) this.#conversions.set(id, accepted[0]?.kind ?? "");
      return result;
    }
    const texts = types.map((type) => formatType(this.#unifier.substitute(type)));
    const receiver = target ? `${texts.shift()}.` : "";
    throw new TypeCheckError(`found no matching overload for '${name}' applied to '${receiver}(${texts.join(", ")})'`, id);
  }

  #checkOperands(types: readonly StaticType[], args: readonly Expr[]): StaticType {
    for (const [i, type] of types.entries()) this.#expect(BOOL, type, args[i]);
    return BOOL;
  }

  #checkLoop(loop: Comprehension, scope: Scope): StaticType {
    const range = this.#unifier.substitute(this.#check(loop.iterRange, scope));
    const accumulated = this.#check(loop.accuInit, scope);
    this.#hasLoop = true;
    const outer = new Map(scope).set(loop.accuVar, accumulated);
    const inner = new Map(outer).set(loop.iterVar, this.#getLoopVariable(range, loop.iterRange));
    this.#expect(BOOL, this.#check(loop.loopCondition, inner), loop.loopCondition);
    this.#expect(accumulated, this.#check(loop.loopStep, inner), loop.loopStep);
    return this.#unifier.substitute(this.#check(loop.result, outer));
  }

  #getLoopVariable(range: StaticType, expr: Expr | undefined): StaticType {
    if (range.kind === "list" || range.kind === "map") return range.parameters[0] ?? DYN;
    if (range.kind === "variable") this.#unifier.isAssignable([DYN], [range]);
    else if (range.kind !== "dyn")
      throw new TypeCheckError(`a loop over type '${formatType(range)}' is not possible: convert the range with dyn()`, expr?.id ?? 0n);
    return DYN;
  }

  #expect(expected: StaticType, type: StaticType, expr: Expr | undefined): void {
    if (this.#unifier.isAssignable([expected], [type])) return;
    const [want, got] = [expected, type].map((one) => formatType(this.#unifier.substitute(one)));
    throw new TypeCheckError(`expected type '${want}' but found '${got}'`, expr?.id ?? 0n);
  }
}

/** @throws TypeCheckError for constants that cel-go does not accept as an index: null, bytes, and the names of types */
function checkIndex(index: Expr | undefined, scope: Scope): void {
  const kind = index?.exprKind;
  const constant = kind?.case === "constExpr" ? kind.value.constantKind.case : undefined;
  const isType =
    kind?.case === "identExpr" && scope.get(kind.value.name) === IDENTIFIERS.get(kind.value.name) && kind.value.name !== "properties";
  if (constant === "nullValue" || constant === "bytesValue" || isType) throw new TypeCheckError("invalid index", index?.id ?? 0n);
}

function getConstantType({ constantKind }: Constant, id: bigint): StaticType {
  switch (constantKind.case) {
    case "boolValue":
      return BOOL;
    case "bytesValue":
      return BYTES;
    case "doubleValue":
      if (!Number.isFinite(constantKind.value)) throw new TypeCheckError("invalid double literal", id);
      return DOUBLE;
    case "int64Value":
      if (BigInt.asIntN(INT_BITS, constantKind.value) !== constantKind.value) throw new TypeCheckError("invalid int literal", id);
      return INT;
    case "nullValue":
      return NULL;
    case "stringValue":
      return STRING;
    case "uint64Value":
      if (BigInt.asUintN(INT_BITS, constantKind.value) !== constantKind.value) throw new TypeCheckError("invalid uint literal", id);
      return UINT;
    case "durationValue":
    case "timestampValue":
    case undefined:
    default:
      throw new TypeCheckError("unknown kind of constant", id);
  }
}

function formatUndeclared(name: string): string {
  return `undeclared reference to ${goQuote(truncateExcerpt(name))}`;
}
