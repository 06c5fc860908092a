import { goQuote } from "../../golang/quote.ts";
import { truncate } from "../../text/truncate.ts";
import type { BundleConstraint, Gvk, LeafConstraint, Provider } from "./constraint.ts";

/**
 * Reports whether a set of bundles on a cluster satisfies `constraint`. The order of bundles and APIs does not matter.
 * - `gvk`: a bundle provides the API, or the cluster serves it.
 * - `package`: a bundle is of that package and in the range.
 * - `cel`: the properties of a single bundle make the rule true.
 * - `all`, `any`, `not`: every member, at least one, or none is true. Different bundles may satisfy different members.
 * @param served APIs of the cluster that none of the bundles provides
 */
export function isSatisfied(constraint: BundleConstraint, providers: readonly Provider[], served: readonly Gvk[]): boolean {
  if ("constraints" in constraint) {
    const { kind, constraints } = constraint;
    if (kind === "all") return constraints.every((member) => isSatisfied(member, providers, served));
    return constraints.some((member) => isSatisfied(member, providers, served)) === (kind === "any");
  }
  if (constraint.kind === "gvk" && served.some((gvk) => sameGvk(gvk, constraint.gvk))) return true;
  return providers.some((provider) => meets(provider, constraint));
}

/** Reports whether this bundle satisfies the constraint. */
export function meets(provider: Provider, constraint: LeafConstraint): boolean {
  if (constraint.kind === "gvk") return provider.apis.some((gvk) => sameGvk(gvk, constraint.gvk));
  if (constraint.kind === "cel") return constraint.holds(provider.properties);
  if (provider.packageName !== constraint.packageName || provider.version === undefined) return false;
  return constraint.range.versions.contains(provider.version.version);
}

function sameGvk(a: Gvk, b: Gvk): boolean {
  return a.kind === b.kind && a.group === b.group && a.version === b.version;
}

const MAX_TEXT = 200;
const MAX_NAME = 64;
const MAX_RULE = 120;
const COMPOUND = { all: "all of", any: "any of", not: "none of" } as const;

/**
 * Describes a constraint, such as `package "b" >=2.0.0`, `API g.example.com/v1 Kind`, `all of (…, …)`; at most 200 characters on one line.
 * Failure messages are not included.
 */
export function describeConstraint(constraint: BundleConstraint): string {
  return truncate(described(constraint, MAX_TEXT).trim(), MAX_TEXT);
}

/** Describes a constraint and stops soon after `room` characters. */
function described(constraint: BundleConstraint, room: number): string {
  if (constraint.kind === "gvk") return `API ${formatGvk(constraint.gvk)}`;
  if (constraint.kind === "cel") return `a bundle that matches ${goQuote(truncate(constraint.rule.replace(/\s+/g, " ").trim(), MAX_RULE))}`;
  if (constraint.kind === "package")
    return `package ${goQuote(truncate(constraint.packageName.trim(), MAX_NAME))} ${formatRange(constraint.range.text)}`;
  let text = "";
  for (const member of constraint.constraints) {
    if (text.length > room) break;
    text += `${text === "" ? "" : ", "}${described(member, room - text.length)}`;
  }
  return `${COMPOUND[constraint.kind]} (${text})`;
}

/** Formats an API, such as `g.example.com/v1 Kind`. */
export function formatGvk({ group, version, kind }: Gvk): string {
  return `${truncate(group.trim(), MAX_NAME)}/${truncate(version.trim(), MAX_NAME)} ${truncate(kind.trim(), MAX_NAME)}`;
}

/** Formats a range as written; quoted only if it contains characters that ranges do not need. */
function formatRange(text: string): string {
  const short = truncate(text.replace(/\s+/g, " ").trim(), MAX_NAME);
  return /^[-+.0-9A-Za-z<>=!| *\u2026]+$/.test(short) ? short : goQuote(short);
}

/** A part of a constraint that is not met. */
export interface UnmetConstraint {
  readonly leaf: LeafConstraint;
  /** True inside a `not`: the leaf is true but must not be. */
  readonly excluded: boolean;
  /** The author's messages, from the whole constraint to the leaf, without empty ones and duplicates. */
  readonly failureMessages: readonly string[];
}

/** Maximum number of parts reported for one constraint. */
const MAX_UNMET = 20;

/** Returns the parts that make `constraint` false, in its order, at most 20; empty if the constraint is true. */
export function findUnmet(constraint: BundleConstraint, providers: readonly Provider[], served: readonly Gvk[]): UnmetConstraint[] {
  const found: UnmetConstraint[] = [];
  const truth = (part: BundleConstraint): boolean => isSatisfied(part, providers, served);
  const visit = (part: BundleConstraint, want: boolean, above: readonly string[]): void => {
    if (found.length >= MAX_UNMET || truth(part) === want) return;
    const failureMessages = part.failureMessage && !above.includes(part.failureMessage) ? [...above, part.failureMessage] : above;
    if (!("constraints" in part)) found.push({ leaf: part, excluded: !want, failureMessages });
    else for (const member of part.constraints) visit(member, part.kind === "not" ? !want : want, failureMessages);
  };
  visit(constraint, true, []);
  return found;
}

/**
 * Formats an unmet part, such as `package "b" >=2.0.0 ("blue is needed for…")`, or `not package "b" >=2.0.0`. Failure messages are quoted
 * because they are the author's words.
 */
export function formatUnmetConstraint({ leaf, excluded, failureMessages }: UnmetConstraint): string {
  const messages = failureMessages.length === 0 ? "" : ` (${failureMessages.map(goQuote).join("; ")})`;
  return `${excluded ? "not " : ""}${describeConstraint(leaf)}${messages}`;
}
