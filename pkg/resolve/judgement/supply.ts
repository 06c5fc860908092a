import { goQuote } from "../../golang/quote.ts";
import type { SolverBundle } from "../solver/problem.ts";
import { enumerated } from "../wording.ts";
import { type Objection, objectionClause } from "./objection.ts";

/** What would have to happen for a bundle that cannot be installed to be installed. */
export type Supply =
  /** Bundles that catalogs offer would be enough. */
  | { readonly kind: "offered"; readonly bundles: readonly SolverBundle[] }
  /** Other extensions would have to be at these bundles, too; `first` are those that can be updated by themselves. */
  | { readonly kind: "moves"; readonly moves: readonly Move[]; readonly first: readonly Move[] }
  /** Nothing that the catalogs offer is enough; why, one sentence each. */
  | { readonly kind: "none"; readonly sentences: readonly string[] }
  /** It was not found out. */
  | { readonly kind: "undecided"; readonly because: string };

/** Another bundle for what an extension has installed. */
export interface Move {
  readonly extension: string;
  readonly bundle: string;
}

/** One catalog that could not be asked for it, and why. */
export interface Silent {
  readonly name: string;
  readonly unavailable: string;
}

/** Most sentences of an explanation that are told in a condition. */
const MAX_SENTENCES = 5;

/**
 * Why a bundle cannot be installed, and what to do about it or why nothing can be done, in clauses of which none can be left out.
 * @param supply undefined where it was not looked for, since only the author of the catalog can help.
 */
export function clausesFor(objection: Objection, supply: Supply | undefined, silent: readonly Silent[]): string[] {
  const why = objectionClause(objection);
  const unasked = silent.map(({ name, unavailable }) => `catalog ${goQuote(name)} could not be asked (${unavailable})`);
  if (supply?.kind === "offered") return [why, offered(supply.bundles)];
  if (supply?.kind === "moves") return [why, moves(supply)];
  if (!supply || objection.kind !== "unmet") return [why];
  if (supply.kind === "undecided") return [why, `what would supply that was not found out: ${supply.because}`, ...unasked];
  return [...supply.sentences.slice(0, MAX_SENTENCES), ...unasked];
}

function offered(bundles: readonly SolverBundle[]): string {
  const named = enumerated(bundles.map(({ name, catalog = "" }) => `${goQuote(name)} (catalog ${goQuote(catalog)})`));
  const packages = enumerated(bundles.map(({ packageName }) => goQuote(packageName)));
  const [bundle, extension, the] =
    bundles.length === 1 ? ["bundle", "a ClusterExtension", "package"] : ["bundles", "ClusterExtensions", "packages"];
  return `${bundle} ${named} would supply that: apply ${extension} of ${the} ${packages}, or set spec.dependencies.policy to Install`;
}

function moves({ moves: all, first }: Supply & { kind: "moves" }): string {
  const text = (list: readonly Move[]): string =>
    enumerated(list.map(({ extension, bundle }) => `ClusterExtension ${goQuote(extension)} at ${goQuote(bundle)}`));
  if (first.length > 0) return `it can follow once there is ${text(first)}`;
  return `version deadlock: it could only be installed at the same time as ${text(all)}, and neither can come first; spec.dependencies.policy Ignore on one of them lets it go first`;
}
