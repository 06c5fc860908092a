import type { JsonObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { FbcBundle, Property } from "../../fbc/types.ts";
import { findGvkFaults } from "../../fbc/validate/propertyCheck.ts";
import { describeKind, formatWrongKind } from "../../fbc/wrongKind.ts";
import { foldKey, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { truncate, truncateExcerpt } from "../../text/truncate.ts";
import { parseRange } from "../../version/blang.ts";
import { findBundleVersion } from "../candidates.ts";
import type { BundleConstraint, CelCompiler, CompoundConstraint, Gvk, PackageConstraint, Provider } from "./constraint.ts";

const DEPENDENCY_TYPES: ReadonlySet<string> = new Set(["olm.package.required", "olm.gvk.required", "olm.constraint"]);

/** Reports whether a property of this type declares a dependency. */
export function isDependency(type: string): boolean {
  return DEPENDENCY_TYPES.has(type);
}

/** Reports whether properties declare a dependency. */
export function declaresDependency(properties: readonly Property[]): boolean {
  return properties.some(({ type }) => isDependency(type));
}

/** Thrown by the parser; converted to a `ConstraintFault`. */
class ConstraintError extends Error {
  override readonly name = "ReadFault";
  /** Path in the property's value. */
  readonly path: string;

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.path = path;
  }
}

/** A constraint of a bundle that cannot be parsed. Only the author of the catalog can correct it. */
export interface ConstraintFault {
  /** Name of the bundle. */
  readonly bundle: string;
  /** Index in the bundle's properties, from 0. */
  readonly property: number;
  /** The property's type, such as "olm.constraint". */
  readonly type: string;
  /** Path in the property's value, such as "all.constraints[1].package.versionRange"; empty for the whole value. */
  readonly path: string;
  readonly reason: string;
}

/** Formats the error as one sentence, including who must correct it. At most about 1,000 characters. */
export function formatError(fault: ConstraintFault): string {
  return `bundle ${goQuote(truncateExcerpt(fault.bundle))} declares an invalid constraint, which the catalog author must correct: ${formatFault(fault)}`;
}

/** Formats the place and the reason, without the bundle: `properties[1] of type "olm.constraint", at all: …`. */
export function formatFault({ property, type, path, reason }: ConstraintFault): string {
  const at = path === "" ? "" : `, at ${truncateExcerpt(path)}`;
  return `properties[${property}] of type ${goQuote(truncateExcerpt(type))}${at}: ${truncateExcerpt(reason)}`;
}

/** The members of a constraint object by lower-case name, without null values, which Go's decoder ignores. */
type ConstraintFields = ReadonlyMap<string, unknown>;

/** Returns the path of a member. */
function below(path: string, member: string): string {
  return path === "" ? member : `${path}.${member}`;
}

/** @throws ReadFault if `value` is not an object */
function objectAt(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw new ConstraintError(path, `expected an object, got ${describeKind(value)}`);
}

/**
 * Returns the members of `value`, regardless of the case of their names.
 * @param known allowed members; undefined if unknown ones are ignored
 * @throws ReadFault if it is not an object, has an unknown member, or has one twice
 */
function membersAt(value: unknown, path: string, known?: readonly string[]): ConstraintFields {
  const object = objectAt(value, path);
  const members = new Map<string, unknown>();
  for (const key of Object.keys(object)) {
    const name = foldKey(key);
    if (known && !known.some((other) => foldKey(other) === name))
      throw new ConstraintError(path, `unknown key ${goQuote(truncateExcerpt(key))}: valid keys are ${known.join(", ")}`);
    if (object[key] === null) continue;
    if (members.has(name)) throw new ConstraintError(path, `key ${goQuote(truncateExcerpt(name))} is set more than once`);
    members.set(name, object[key]);
  }
  return members;
}

/** Returns a string member; undefined if it does not exist. @throws ReadFault if it is not a string */
function readText(members: ConstraintFields, key: string, path: string): string | undefined {
  const value = members.get(foldKey(key));
  if (value === undefined || typeof value === "string") return value;
  throw new ConstraintError(below(path, key), formatWrongKind(value, "a string"));
}

/** The members of a required or provided API. */
const GVK_KEYS = ["group", "version", "kind"];

/**
 * Parses the API of `olm.gvk`, `olm.gvk.required` or a constraint `gvk`: group, version and kind, all set and valid in Kubernetes.
 * @throws ReadFault if one of them is missing or malformed
 */
function gvkFrom(members: ConstraintFields, path: string): Gvk {
  const [group = "", version = "", kind = ""] = GVK_KEYS.map((key) => readText(members, key, path));
  const faults = findGvkFaults({ group, version, kind });
  if (faults.length > 0) throw new ConstraintError(path, faults.join("; "));
  return { group, version, kind };
}

/** The members of a required package, with their synonyms. */
const PACKAGE_KEYS = ["packageName", "versionRange", "name", "version"];
/** Maximum length of a range; the longest in public catalogs has about 40 characters. */
const MAX_RANGE = 1_024;
/** Maximum length of a name; Kubernetes allows 253. */
const MAX_NAME = 512;

/**
 * Parses a required package: its name under `packageName` or `name`, its version range (syntax of blang) under `versionRange` or `version`.
 * @throws ReadFault if name or range is missing or has two different values, or if the range is invalid
 */
function packageFrom(members: ConstraintFields, path: string): Omit<PackageConstraint, "failureMessage"> {
  const packageName = spelt(members, path, "packageName", "name");
  const text = spelt(members, path, "versionRange", "version");
  if (packageName.length > MAX_NAME)
    throw new ConstraintError(path, `the package name is too long: ${packageName.length} characters, maximum ${MAX_NAME}`);
  if (text.length > MAX_RANGE)
    throw new ConstraintError(path, `the version range is too long: ${text.length} characters, maximum ${MAX_RANGE}`);
  try {
    return { kind: "package", packageName, range: { text, versions: parseRange(text) } };
  } catch (err) {
    throw new ConstraintError(path, `${goQuote(truncateExcerpt(text))} is not a version range: ${getErrorMessage(err)}`, { cause: err });
  }
}

function spelt(members: ConstraintFields, path: string, key: string, other: string): string {
  const [text, otherText] = [readText(members, key, path), readText(members, other, path)];
  if (text !== undefined && otherText !== undefined && text !== otherText)
    throw new ConstraintError(
      path,
      `${key} and ${other} are synonyms but have different values: ${goQuote(truncateExcerpt(text))} and ${goQuote(truncateExcerpt(otherText))}`,
    );
  const found = text ?? otherText ?? "";
  if (found === "") throw new ConstraintError(below(path, key), "must be set");
  return found;
}

const COMPOUNDS = ["all", "any", "not"] as const;
const KINDS = ["gvk", "package", "cel", ...COMPOUNDS] as const;
type Kind = (typeof KINDS)[number];
/** The former name of `not`. */
const FORMER_NOT = "none";
const KEYS = ["failureMessage", ...KINDS, FORMER_NOT];
/** Maximum length of an author's message that is reported, in characters. */
const MAX_MESSAGE = 512;
/** Maximum nesting of compounds. */
const MAX_DEPTH = 16;
/** Maximum number of constraints of one bundle, including compounds and their members. */
const MAX_CONSTRAINTS = 512;
/** Maximum number of CEL rules of one bundle; compiling a long one takes about ten milliseconds. */
const MAX_RULES = 16;

/**
 * Parses the constraints of one bundle, one property after another.
 * @see https://github.com/operator-framework/api/blob/v0.34.0/pkg/constraints/constraint.go
 */
class ConstraintReader {
  readonly #cel: Pick<CelCompiler, "compile">;
  readonly #bundle: string;
  #count = 0;
  #rules = 0;

  constructor(cel: Pick<CelCompiler, "compile">, bundle: string) {
    this.#cel = cel;
    this.#bundle = bundle;
  }

  /**
   * Parses the value of a property as a constraint. Keys match in any letter case.
   * @throws ReadFault if it cannot be parsed
   */
  read(type: string, value: unknown): BundleConstraint {
    if (type === "olm.constraint") return this.#constraint(value, "", 0, undefined);
    this.#counted("");
    if (type === "olm.package.required") return packageFrom(membersAt(value, ""), "");
    return { kind: "gvk", gvk: gvkFrom(membersAt(value, ""), "") };
  }

  #constraint(value: unknown, path: string, depth: number, parent: Kind | undefined): BundleConstraint {
    this.#counted(path);
    if (depth > MAX_DEPTH) throw new ConstraintError(path, `constraints are nested deeper than ${MAX_DEPTH} levels`);
    const members = membersAt(value, path, KEYS);
    const [kind, key] = kindFrom(members, path);
    const at = below(path, key);
    if (kind === "not" && parent !== "all" && parent !== "any") throw new ConstraintError(at, NOT_ALONE);
    const message = readText(members, "failureMessage", path);
    const stated = message === undefined ? {} : { failureMessage: onOneLine(message) };
    const content = members.get(key);
    if (kind === "gvk") return { kind, gvk: gvkFrom(membersAt(content, at, GVK_KEYS), at), ...stated };
    if (kind === "package") return { ...packageFrom(membersAt(content, at, PACKAGE_KEYS), at), ...stated };
    if (kind === "cel") return { ...this.#rule(membersAt(content, at, ["rule"]), at), ...stated };
    return { ...this.#compound(kind, membersAt(content, at, ["constraints"]), at, depth), ...stated };
  }

  #compound(kind: CompoundConstraint["kind"], members: ConstraintFields, path: string, depth: number): CompoundConstraint {
    const at = below(path, "constraints");
    const list = members.get("constraints") ?? [];
    if (!Array.isArray(list)) throw new ConstraintError(at, `expected a list, got ${describeKind(list)}`);
    if (list.length === 0) throw new ConstraintError(at, "must contain at least one constraint");
    return { kind, constraints: list.map((item: unknown, i) => this.#constraint(item, `${at}[${i}]`, depth + 1, kind)) };
  }

  #rule(members: ConstraintFields, path: string): BundleConstraint {
    const at = below(path, "rule");
    const rule = readText(members, "rule", path) ?? "";
    if (rule.trim() === "") throw new ConstraintError(at, "must be set");
    if (++this.#rules > MAX_RULES) throw new ConstraintError(at, `the bundle declares more than ${MAX_RULES} CEL rules`);
    try {
      return { kind: "cel", rule, holds: this.#cel.compile(rule, this.#bundle) };
    } catch (err) {
      throw new ConstraintError(at, getErrorMessage(err), { cause: err });
    }
  }

  #counted(path: string): void {
    if (++this.#count > MAX_CONSTRAINTS) throw new ConstraintError(path, `the bundle declares more than ${MAX_CONSTRAINTS} constraints`);
  }
}

const NOT_ALONE = '"not" is only valid inside "all" or "any", because on its own it selects no bundle';

function onOneLine(message: string): string {
  return truncate(
    message
      .slice(0, 4 * MAX_MESSAGE)
      .replace(/[\s\p{Cc}]+/gu, " ")
      .trim(),
    MAX_MESSAGE,
  );
}

/** Returns the kind of the constraint, and its key. */
function kindFrom(members: ConstraintFields, path: string): [Kind, string] {
  const kinds = KINDS.filter((kind) => members.has(kind));
  const key = kinds[0];
  if (kinds.length > 1) throw new ConstraintError(path, `only one of ${KINDS.join(", ")} may be set, got ${kinds.join(" and ")}`);
  if (key !== undefined) return [key, key];
  if (members.has(FORMER_NOT)) return ["not", FORMER_NOT];
  throw new ConstraintError(path, `one of ${KINDS.join(", ")} must be set`);
}

/** The constraints that a bundle declares. */
export interface DeclaredConstraints {
  /** In the order of the properties; all must be true. */
  readonly constraints: readonly BundleConstraint[];
  /** Properties that cannot be parsed. If there are any, it is unknown whether the bundle can be installed. */
  readonly faults: readonly ConstraintFault[];
}

/** Maximum number of faults reported for one bundle. */
const MAX_FAULTS = 20;

/**
 * Parses the properties `olm.package.required`, `olm.gvk.required` and `olm.constraint` of a bundle; others are ignored. The effort is bounded by the
 * size of the properties and by 512 constraints.
 * @param cel used only if there is a CEL rule, see `usesCel`
 */
export function parseConstraints(
  bundle: { readonly name: string; readonly properties: readonly Property[] },
  cel: Pick<CelCompiler, "compile">,
): DeclaredConstraints {
  const reader = new ConstraintReader(cel, bundle.name);
  const constraints: BundleConstraint[] = [];
  const faults: ConstraintFault[] = [];
  for (const [property, { type, value }] of bundle.properties.entries()) {
    if (!isDependency(type)) continue;
    try {
      constraints.push(reader.read(type, value));
    } catch (err) {
      if (!(err instanceof ConstraintError)) throw err;
      faults.push({ bundle: bundle.name, property, type, path: err.path, reason: err.message });
      if (faults.length === MAX_FAULTS) break;
    }
  }
  return { constraints, faults };
}

/** Maximum number of APIs of one bundle; real ones have up to 100. */
const MAX_APIS = 1_024;

/** Returns the parts of a bundle that constraints refer to. Malformed `olm.gvk` properties are ignored, because they cannot be required. */
export function toProvider(bundle: Pick<FbcBundle, "package" | "name" | "properties">): Provider {
  return { packageName: bundle.package, version: findBundleVersion(bundle), apis: listProvidedApis(bundle), properties: bundle.properties };
}

function listProvidedApis({ properties }: Pick<FbcBundle, "properties">): Gvk[] {
  const apis = new Map<string, Gvk>();
  for (const { type, value } of properties) {
    const gvk = type === "olm.gvk" ? gvkOrNone(value) : undefined;
    if (gvk && apis.size < MAX_APIS) apis.set(getGvkKey(gvk), gvk);
  }
  return [...apis.values()];
}

function gvkOrNone(value: unknown): Gvk | undefined {
  try {
    return gvkFrom(membersAt(value, ""), "");
  } catch (err) {
    if (err instanceof ConstraintError) return undefined;
    throw err;
  }
}

/** Returns a key for an API; only equal APIs have the same key. */
export function getGvkKey({ group, version, kind }: Gvk): string {
  return `${group}/${version}/${kind}`;
}
