import { goQuote } from "../../golang/quote.ts";
import type { BundleConstraint, Gvk, LeafConstraint, Provider } from "./constraint.ts";
import { describe } from "./describe.ts";
import { holds } from "./holds.ts";

/** A part of a constraint that keeps it from being true. */
export interface UnmetConstraint {
  readonly leaf: LeafConstraint;
  /** True under a `not`: the leaf is true and must not be. */
  readonly excluded: boolean;
  /** What authors say about it, from the constraint as a whole to the leaf; those without a message left out, none twice. */
  readonly failureMessages: readonly string[];
}

/** Most parts that are told of one constraint. */
const MAX_UNMET = 20;

/** The parts that make `constraint` false, in its order, at most 20; none where it holds. */
export function unmet(constraint: BundleConstraint, providers: readonly Provider[], served: readonly Gvk[]): UnmetConstraint[] {
  const found: UnmetConstraint[] = [];
  const truth = (part: BundleConstraint): boolean => holds(part, providers, served);
  const visit = (part: BundleConstraint, want: boolean, above: readonly string[]): void => {
    if (found.length >= MAX_UNMET || truth(part) === want) return;
    const failureMessages = part.failureMessage && !above.includes(part.failureMessage) ? [...above, part.failureMessage] : above;
    if (!("constraints" in part)) found.push({ leaf: part, excluded: !want, failureMessages });
    else for (const member of part.constraints) visit(member, part.kind === "not" ? !want : want, failureMessages);
  };
  visit(constraint, true, []);
  return found;
}

/** Such as `package "b" >=2.0.0 ("blue is needed for…")`, or `not package "b" >=2.0.0`; failure messages are the author's words, so quoted. */
export function unmetText({ leaf, excluded, failureMessages }: UnmetConstraint): string {
  const messages = failureMessages.length === 0 ? "" : ` (${failureMessages.map(goQuote).join("; ")})`;
  return `${excluded ? "not " : ""}${describe(leaf)}${messages}`;
}
