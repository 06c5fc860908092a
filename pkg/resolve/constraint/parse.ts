import type { JsonObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import { describeKind, wrongKind } from "../../fbc/content.ts";
import type { FbcBundle, Property } from "../../fbc/types.ts";
import { gvkFaults } from "../../fbc/validate/propertyCheck.ts";
import { foldKey, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { excerpt, truncate } from "../../text/truncate.ts";
import { parseRange } from "../../version/blang.ts";
import { findBundleVersion } from "../candidates.ts";
import type { BundleConstraint, CelCompiler, CompoundConstraint, Gvk, PackageConstraint, Provider } from "./constraint.ts";

const DEPENDENCY_TYPES: ReadonlySet<string> = new Set(["olm.package.required", "olm.gvk.required", "olm.constraint"]);

/** Whether a property of this type declares what a bundle needs. */
export function isDependency(type: string): boolean {
  return DEPENDENCY_TYPES.has(type);
}

/** The properties by which `bundle` declares what it needs, in the bundle's order. */
export function dependenciesOf(bundle: FbcBundle): Property[] {
  return bundle.properties.filter(({ type }) => isDependency(type));
}

/** Thrown inside the reading of constraints; becomes a `ConstraintFault` there. */
class ReadFault extends Error {
  override readonly name = "ReadFault";
  /** Where in the property's value. */
  readonly path: string;

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.path = path;
  }
}

/** A constraint that a bundle declares and nobody can read. Only the author of the catalog can mend it. */
export interface ConstraintFault {
  /** Name of the bundle. */
  readonly bundle: string;
  /** Its place among the bundle's properties, from 0. */
  readonly property: number;
  /** The property's type, such as "olm.constraint". */
  readonly type: string;
  /** Where in the property's value, such as "all.constraints[1].package.versionRange"; empty for the value as a whole. */
  readonly path: string;
  readonly reason: string;
}

/** The fault as one sentence that says whose mistake it is; at most some 1,000 characters. */
export function formatError({ bundle, property, type, path, reason }: ConstraintFault): string {
  const where = `properties[${property}] of type ${goQuote(excerpt(type))}${path === "" ? "" : `, at ${excerpt(path)}`}`;
  return `bundle ${goQuote(excerpt(bundle))} declares a constraint that cannot be read, a mistake for the catalog's author to correct: ${where}: ${excerpt(reason)}`;
}

/** The members of an object of a constraint, by their names in lower case, without those that are null: Go's decoder passes over them. */
type Members = ReadonlyMap<string, unknown>;

/** `path` with what stands below it. */
function below(path: string, member: string): string {
  return path === "" ? member : `${path}.${member}`;
}

/** @throws ReadFault when `value` is no object. */
function objectAt(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw new ReadFault(path, `expected an object, got ${describeKind(value)}`);
}

/**
 * The members of `value`, whatever the case of their names.
 * @param known what may stand there; undefined where others are passed over.
 * @throws ReadFault when it is no object, has a member that nobody knows, or one twice.
 */
function membersAt(value: unknown, path: string, known?: readonly string[]): Members {
  const object = objectAt(value, path);
  const members = new Map<string, unknown>();
  for (const key of Object.keys(object)) {
    const name = foldKey(key);
    if (known && !known.some((other) => foldKey(other) === name))
      throw new ReadFault(path, `unknown key ${goQuote(excerpt(key))}; known here: ${known.join(", ")}`);
    if (object[key] === null) continue;
    if (members.has(name)) throw new ReadFault(path, `key ${goQuote(excerpt(name))} stands there more than once`);
    members.set(name, object[key]);
  }
  return members;
}

/** The text of a member; undefined where there is none. @throws ReadFault when it is no text. */
function textOf(members: Members, key: string, path: string): string | undefined {
  const value = members.get(foldKey(key));
  if (value === undefined || typeof value === "string") return value;
  throw new ReadFault(below(path, key), wrongKind(value, "a string"));
}

/** The members of a required or provided API. */
const GVK_KEYS = ["group", "version", "kind"];

/**
 * An API as `olm.gvk`, `olm.gvk.required` and the constraint `gvk` state it: all three set, in the forms that Kubernetes has for them.
 * @throws ReadFault when one is not; no such API can be served.
 */
function gvkFrom(members: Members, path: string): Gvk {
  const [group = "", version = "", kind = ""] = GVK_KEYS.map((key) => textOf(members, key, path));
  const faults = gvkFaults({ group, version, kind });
  if (faults.length > 0) throw new ReadFault(path, faults.join("; "));
  return { group, version, kind };
}

/** The members of a required package, in all their spellings. */
const PACKAGE_KEYS = ["packageName", "versionRange", "name", "version"];
/** Longest range; the longest in public catalogs has some 40 characters. */
const MAX_RANGE = 1_024;
/** Longest name; Kubernetes takes 253. */
const MAX_NAME = 512;

/**
 * A required package, its name under `packageName` or `name`, its range of versions (blang's language) under `versionRange` or `version`.
 * @throws ReadFault when one of the two is missing, stands there in two spellings that differ, or is no range.
 */
function packageFrom(members: Members, path: string): Omit<PackageConstraint, "failureMessage"> {
  const packageName = spelt(members, path, "packageName", "name");
  const text = spelt(members, path, "versionRange", "version");
  if (packageName.length > MAX_NAME) throw new ReadFault(path, `the package's name has ${packageName.length} characters`);
  if (text.length > MAX_RANGE) throw new ReadFault(path, `the range of versions has ${text.length} characters, more than ${MAX_RANGE}`);
  try {
    return { kind: "package", packageName, range: { text, versions: parseRange(text) } };
  } catch (err) {
    throw new ReadFault(path, `${goQuote(excerpt(text))} is no range of versions: ${messageOf(err)}`, { cause: err });
  }
}

function spelt(members: Members, path: string, key: string, other: string): string {
  const [text, otherText] = [textOf(members, key, path), textOf(members, other, path)];
  if (text !== undefined && otherText !== undefined && text !== otherText)
    throw new ReadFault(path, `${key} and ${other} mean the same and differ: ${goQuote(excerpt(text))} and ${goQuote(excerpt(otherText))}`);
  const found = text ?? otherText ?? "";
  if (found === "") throw new ReadFault(below(path, key), "must be set");
  return found;
}

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
class ConstraintReader {
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
    if (!Array.isArray(list)) throw new ReadFault(at, `expected a list, got ${describeKind(list)}`);
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
  return truncate(
    message
      .slice(0, 4 * MAX_MESSAGE)
      .replace(/[\s\p{Cc}]+/gu, " ")
      .trim(),
    MAX_MESSAGE,
  );
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

/** What a bundle asks of the bundles that it is installed among. */
export interface DeclaredConstraints {
  /** In the order of the properties; all of them have to hold. */
  readonly constraints: readonly BundleConstraint[];
  /** Properties that cannot be read. With one, nobody can tell whether the bundle may be installed. */
  readonly faults: readonly ConstraintFault[];
}

/** Most faults that are told of one bundle. */
const MAX_FAULTS = 20;

/**
 * Reads the properties `olm.package.required`, `olm.gvk.required` and `olm.constraint` of a bundle; the others mean nothing here.
 * Work is bounded by the size of the properties, and by 512 constraints.
 * @param cel asked only where there is a rule of CEL, see `mentionsCel`.
 */
export function constraintsOf(
  bundle: { readonly name: string; readonly properties: readonly Property[] },
  cel: Pick<CelCompiler, "compile">,
): DeclaredConstraints {
  const reader = new ConstraintReader(cel);
  const constraints: BundleConstraint[] = [];
  const faults: ConstraintFault[] = [];
  for (const [property, { type, value }] of bundle.properties.entries()) {
    if (!isDependency(type)) continue;
    try {
      constraints.push(reader.read(type, value));
    } catch (err) {
      if (!(err instanceof ReadFault)) throw err;
      faults.push({ bundle: bundle.name, property, type, path: err.path, reason: err.message });
      if (faults.length === MAX_FAULTS) break;
    }
  }
  return { constraints, faults };
}

/** Most APIs of one bundle; real ones have up to 100. */
const MAX_APIS = 1_024;

/** `bundle` as constraints see it. Properties `olm.gvk` that state no API are passed over: nobody can require what they name. */
export function providerFrom(bundle: Pick<FbcBundle, "package" | "name" | "properties">): Provider {
  return { packageName: bundle.package, version: findBundleVersion(bundle), apis: providedApis(bundle), properties: bundle.properties };
}

function providedApis({ properties }: Pick<FbcBundle, "properties">): Gvk[] {
  const apis = new Map<string, Gvk>();
  for (const { type, value } of properties) {
    const gvk = type === "olm.gvk" ? gvkOrNone(value) : undefined;
    if (gvk && apis.size < MAX_APIS) apis.set(gvkKey(gvk), gvk);
  }
  return [...apis.values()];
}

function gvkOrNone(value: unknown): Gvk | undefined {
  try {
    return gvkFrom(membersAt(value, ""), "");
  } catch (err) {
    if (err instanceof ReadFault) return undefined;
    throw err;
  }
}

/** The API as one text; equal for equal APIs only. */
export function gvkKey({ group, version, kind }: Gvk): string {
  return `${group}/${version}/${kind}`;
}
