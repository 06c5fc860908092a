import { messageOf } from "../../errors/errors.ts";
import { shortened } from "../../fbc/boundedTexts.ts";
import { kindOf } from "../../fbc/content.ts";
import type { CelCompiler } from "./celCompiler.ts";
import type { BundleConstraint, CompoundConstraint } from "./constraint.ts";
import { below, type Members, membersAt, textOf } from "./constraintMembers.ts";
import { ReadFault } from "./readFault.ts";
import { GVK_KEYS, gvkFrom } from "./readGvk.ts";
import { PACKAGE_KEYS, packageFrom } from "./readPackage.ts";

const COMPOUNDS = ["all", "any", "not"] as const;
const KINDS = ["gvk", "package", "cel", ...COMPOUNDS] as const;
type Kind = (typeof KINDS)[number];
/** Until it was renamed, `not` was `none`. */
const FORMER_NOT = "none";
const KEYS = ["failureMessage", ...KINDS, FORMER_NOT];
/** Longest message of an author that is told. Characters. */
const MAX_MESSAGE = 512;
/** Compounds inside compounds. */
const MAX_DEPTH = 16;
/** Constraints of one bundle, the compound ones and those inside them each counted. */
const MAX_CONSTRAINTS = 512;
/** Rules of CEL of one bundle: compiling a long one takes some ten milliseconds. */
const MAX_RULES = 16;

/**
 * Reads the constraints of one bundle, one property after another.
 * @see https://github.com/operator-framework/api/blob/v0.34.0/pkg/constraints/constraint.go
 */
export class ConstraintReader {
  readonly #cel: Pick<CelCompiler, "compile">;
  #count = 0;
  #rules = 0;

  constructor(cel: Pick<CelCompiler, "compile">) {
    this.#cel = cel;
  }

  /**
   * The value of a property as the constraint that it states. Keys are taken in any letter case.
   * @throws ReadFault when it cannot be read.
   */
  read(type: string, value: unknown): BundleConstraint {
    if (type === "olm.constraint") return this.#constraint(value, "", 0, undefined);
    this.#counted("");
    if (type === "olm.package.required") return packageFrom(membersAt(value, ""), "");
    return { kind: "gvk", gvk: gvkFrom(membersAt(value, ""), "") };
  }

  #constraint(value: unknown, path: string, depth: number, parent: Kind | undefined): BundleConstraint {
    this.#counted(path);
    if (depth > MAX_DEPTH) throw new ReadFault(path, `constraints are nested deeper than ${MAX_DEPTH}`);
    const members = membersAt(value, path, KEYS);
    const [kind, key] = kindFrom(members, path);
    const at = below(path, key);
    if (kind === "not" && parent !== "all" && parent !== "any") throw new ReadFault(at, NOT_ALONE);
    const message = textOf(members, "failureMessage", path);
    const stated = message === undefined ? {} : { failureMessage: onOneLine(message) };
    const content = members.get(key);
    if (kind === "gvk") return { kind, gvk: gvkFrom(membersAt(content, at, GVK_KEYS), at), ...stated };
    if (kind === "package") return { ...packageFrom(membersAt(content, at, PACKAGE_KEYS), at), ...stated };
    if (kind === "cel") return { ...this.#rule(membersAt(content, at, ["rule"]), at), ...stated };
    return { ...this.#compound(kind, membersAt(content, at, ["constraints"]), at, depth), ...stated };
  }

  #compound(kind: CompoundConstraint["kind"], members: Members, path: string, depth: number): CompoundConstraint {
    const at = below(path, "constraints");
    const list = members.get("constraints") ?? [];
    if (!Array.isArray(list)) throw new ReadFault(at, `expected a list, got ${kindOf(list)}`);
    if (list.length === 0) throw new ReadFault(at, "must hold at least one constraint");
    return { kind, constraints: list.map((item: unknown, i) => this.#constraint(item, `${at}[${i}]`, depth + 1, kind)) };
  }

  #rule(members: Members, path: string): BundleConstraint {
    const at = below(path, "rule");
    const rule = textOf(members, "rule", path) ?? "";
    if (rule.trim() === "") throw new ReadFault(at, "must be set");
    if (++this.#rules > MAX_RULES) throw new ReadFault(at, `the bundle declares more than ${MAX_RULES} rules of CEL`);
    try {
      return { kind: "cel", rule, holds: this.#cel.compile(rule) };
    } catch (err) {
      throw new ReadFault(at, messageOf(err), { cause: err });
    }
  }

  #counted(path: string): void {
    if (++this.#count > MAX_CONSTRAINTS) throw new ReadFault(path, `the bundle declares more than ${MAX_CONSTRAINTS} constraints`);
  }
}

const NOT_ALONE = "a not stands only in the list of an all or any: on its own it excludes bundles and selects none";

function onOneLine(message: string): string {
  return shortened(message.slice(0, 4 * MAX_MESSAGE).replace(/[\s\p{Cc}]+/gu, " "), MAX_MESSAGE);
}

/** The one kind that the members state, and the key that does. */
function kindFrom(members: Members, path: string): [Kind, string] {
  const kinds = KINDS.filter((kind) => members.has(kind));
  const key = kinds[0];
  if (kinds.length > 1) throw new ReadFault(path, `only one of ${KINDS.join(", ")} may be set, got ${kinds.join(" and ")}`);
  if (key !== undefined) return [key, key];
  if (members.has(FORMER_NOT)) return ["not", FORMER_NOT];
  throw new ReadFault(path, `one of ${KINDS.join(", ")} must be set`);
}
