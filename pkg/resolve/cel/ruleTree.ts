import { type CelEnv, isCelError, type parse } from "@bufbuild/cel";
import { goQuote } from "../../golang/quote.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { INDEXED, isAvailable, RANGE } from "./metering.ts";

/** A parsed rule or a part of one. */
export type Expr = ReturnType<typeof parse>["expr"];
type Comprehension = Extract<Expr["exprKind"], { case: "comprehensionExpr" }>["value"];
type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];
type Kind = "bool" | "dyn" | "other";

/** A variable that every loop reads before each value. Reading it ends the evaluation if no steps are left. */
export const ALIVE = "@alive";
const MAX_NODES = 500;
const MAX_DEPTH = 64;
/** Maximum nesting of macros that iterate a list for each value of another. */
const MAX_LOOPS = 3;
/** Operators that the library's planner implements without a function. */
const OPERATORS: ReadonlySet<string> = new Set(["_[_]", "_?_:_", "_&&_", "_||_", "@not_strictly_false"]);
const BOOLEAN = /^(!_|_&&_|_\|\|_|_==_|_!=_|_<_|_<=_|_>_|_>=_|@in|@not_strictly_false|contains|startsWith|endsWith|matches|bool)$/;
const DYNAMIC = /^(dyn|_\[_\]|_\?_:_)$/;
const TYPES = ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];

/** Checks a parsed rule without knowing the properties, and wraps each loop and index with step counters. Changes the tree in place. */
export class RuleTree {
  readonly #functions: CelEnv["funcs"];
  #nodes = 0;
  #nextId = 1_000_000n;

  constructor(functions: CelEnv["funcs"]) {
    this.#functions = functions;
  }

  /**
   * Returns the evaluation cost of `root`, excluding loops.
   * @throws Error for undeclared names, for a result that is not of type bool, and for rules that are too large
   */
  prepare(root: Expr): number {
    const weight = this.#weigh(root, new Set(["properties", ...TYPES]), 0, 0);
    if (inferKind(root, new Map()) === "other") throw new Error("the rule does not return a bool");
    return weight;
  }

  #weigh(expr: Expr | undefined, names: ReadonlySet<string>, depth: number, loops: number): number {
    if (!expr) return 0;
    if (++this.#nodes > MAX_NODES) throw new Error(`the rule consists of more than ${MAX_NODES} expressions`);
    if (depth > MAX_DEPTH) throw new Error(`expressions are nested deeper than ${MAX_DEPTH} levels`);
    const inner = (part: Expr | undefined): number => this.#weigh(part, names, depth + 1, loops);
    const { exprKind } = expr;
    switch (exprKind.case) {
      case "constExpr":
        return 1;
      case "identExpr":
        return this.#declared(exprKind.value.name, names);
      case "selectExpr":
        // The library first looks up the whole chain `a.b.c` as one name, then shorter prefixes.
        return chainLength(expr) + inner(exprKind.value.operand);
      case "callExpr":
        return this.#weighCall(exprKind.value, inner);
      case "listExpr":
        return 1 + sum(exprKind.value.elements, inner);
      case "structExpr":
        if (exprKind.value.messageName !== "") throw new Error(undeclared(exprKind.value.messageName));
        return (
          1 + sum(exprKind.value.entries, ({ keyKind, value }) => inner(value) + (keyKind.case === "mapKey" ? inner(keyKind.value) : 0))
        );
      case "comprehensionExpr":
        return this.#weighLoop(exprKind.value, names, depth, loops);
      case undefined:
      default:
        throw new Error("the rule contains an unknown kind of expression");
    }
  }

  #declared(name: string, names: ReadonlySet<string>): number {
    if (!names.has(name.replace(/^\./, ""))) throw new Error(undeclared(name));
    return 1;
  }

  #weighCall(call: Call, inner: (part: Expr | undefined) => number): number {
    const { function: name, target, args } = call;
    if (!isAvailable(name)) throw new Error(`function ${goQuote(truncateExcerpt(name))} is not supported in rules`);
    if (!OPERATORS.has(name) && !this.#functions.find(name)) throw new Error(undeclared(name));
    if (name === "matches") this.#checkPattern(args[0]);
    const weight = 1 + inner(target) + sum(args, inner);
    if (name === "_[_]" && args[0]) args[0] = this.#call(INDEXED, args[0]);
    return weight;
  }

  /** @throws Error if a regular expression literal is invalid */
  #checkPattern(pattern: Expr | undefined): void {
    const kind = pattern?.exprKind;
    if (kind?.case !== "constExpr" || kind.value.constantKind.case !== "stringValue") return;
    const result = this.#functions.find("matches")?.call(0, "", [kind.value.constantKind.value]);
    if (isCelError(result)) throw new Error(result.message);
  }

  #weighLoop(loop: Comprehension, names: ReadonlySet<string>, depth: number, loops: number): number {
    if (loops >= MAX_LOOPS) throw new Error(`loops over lists are nested deeper than ${MAX_LOOPS} levels`);
    const below = new Set([...names, loop.accuVar, loop.iterVar]);
    const once = sum([loop.iterRange, loop.accuInit], (part) => this.#weigh(part, names, depth + 1, loops));
    const each = sum([loop.loopCondition, loop.loopStep], (part) => this.#weigh(part, below, depth + 1, loops + 1));
    const result = this.#weigh(loop.result, below, depth + 1, loops);
    if (loop.loopCondition) loop.loopCondition = this.#call("_&&_", this.#name(ALIVE), loop.loopCondition);
    if (loop.iterRange) loop.iterRange = this.#call(RANGE, loop.iterRange, this.#number(each + 2));
    return 1 + once + result;
  }

  #call(name: string, ...args: Expr[]): Expr {
    return this.#part({ case: "callExpr", value: { $typeName: "cel.expr.Expr.Call", function: name, args } });
  }

  #name(name: string): Expr {
    return this.#part({ case: "identExpr", value: { $typeName: "cel.expr.Expr.Ident", name } });
  }

  #number(value: number): Expr {
    const constantKind = { case: "int64Value", value: BigInt(value) } as const;
    return this.#part({ case: "constExpr", value: { $typeName: "cel.expr.Constant", constantKind } });
  }

  #part(exprKind: Expr["exprKind"]): Expr {
    return { $typeName: "cel.expr.Expr", id: this.#nextId++, exprKind };
  }
}

function undeclared(name: string): string {
  return `undeclared reference to ${goQuote(truncateExcerpt(name))}`;
}

function sum<T>(parts: readonly T[], weigh: (part: T) => number): number {
  return parts.reduce((total, part) => total + weigh(part), 0);
}

function chainLength(expr: Expr | undefined): number {
  return expr?.exprKind.case === "selectExpr" ? 1 + chainLength(expr.exprKind.value.operand) : 0;
}

/** Returns the type of `expr`, if it is known without the properties. @param variables types of the loop accumulators */
function inferKind(expr: Expr | undefined, variables: ReadonlyMap<string, Kind>): Kind {
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case "constExpr":
      return kind.value.constantKind.case === "boolValue" ? "bool" : "other";
    case "selectExpr":
      return kind.value.testOnly ? "bool" : "dyn";
    case "identExpr":
      return variables.get(kind.value.name) ?? (kind.value.name === "properties" || TYPES.includes(kind.value.name) ? "other" : "dyn");
    case "comprehensionExpr":
      return inferKind(kind.value.result, new Map([...variables, [kind.value.accuVar, inferKind(kind.value.accuInit, variables)]]));
    case "callExpr":
      return kindOfCall(kind.value, variables);
    case "listExpr":
    case "structExpr":
    case undefined:
    default:
      return "other";
  }
}

function kindOfCall({ function: name, args }: Call, variables: ReadonlyMap<string, Kind>): Kind {
  if (name === "_?_:_" && args.slice(1).some((branch) => inferKind(branch, variables) === "other")) return "other";
  if (BOOLEAN.test(name)) return "bool";
  return DYNAMIC.test(name) ? "dyn" : "other";
}
