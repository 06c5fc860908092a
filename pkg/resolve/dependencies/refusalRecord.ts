import { formatGvk } from "../constraint/evaluate.ts";
import { formatError } from "../constraint/parse.ts";
import type { ExplanationSentence, SolverBundle } from "../solver/problem.ts";
import { REACHABILITY_LIMITS } from "./reachablePackages.ts";
import type { Remedy, RemedyStep, SearchLimit } from "./remedySearch.ts";
import { type DependencyRefusal, formatRefusal } from "./resolutionHints.ts";

/** A bundle of a catalog in a record. */
interface RecordedDependency {
  readonly package: string;
  readonly bundle: string;
  readonly catalog?: string;
}

/** One change before the installation. */
interface RecordedStep extends RecordedDependency {
  readonly kind: RemedyStep["kind"];
  /** The extension to update. */
  readonly extension?: string;
  /** The extension's version range, if it excludes the version. */
  readonly excludedBy?: string;
}

/** Why a bundle cannot be installed, as JSON. Members may be added; existing ones keep their meaning. */
export interface RefusalRecord {
  readonly bundle: string;
  /** The text that conditions and commands show, one clause each, unabridged. */
  readonly reasons: readonly string[];
  /** The author's mistakes. */
  readonly faults?: readonly string[];
  /** Unmet requirements. */
  readonly requires?: readonly string[];
  /** APIs that another extension's bundle already provides. */
  readonly provided?: readonly { readonly api: string; readonly extension: string; readonly bundle: string }[];
  /** Extensions that would lose dependencies. */
  readonly dependents?: readonly { readonly extension: string; readonly bundle: string; readonly requires: readonly string[] }[];
  /** Sentences that together exclude every solution; at most 500, and the number of the others. */
  readonly conflictSet?: {
    readonly sentences: readonly ExplanationSentence[];
    readonly moreSentences: number;
    /** True if every sentence is needed. */
    readonly isMinimal: boolean;
  };
  readonly remedy?: {
    readonly kind: Remedy["kind"];
    /** Steps in their order, or updates that must happen together. */
    readonly steps?: readonly RecordedStep[];
    /** The catalog to select. */
    readonly catalog?: string;
    /** Bundles to install in addition. */
    readonly bundles: readonly RecordedDependency[];
  };
  /** The limit that ended the search, if it did not finish. */
  readonly exceeded?: { readonly limit: "steps" | "seconds" | "mebibytes" | keyof typeof REACHABILITY_LIMITS; readonly value: number };
  /** Catalogs that could not be searched. */
  readonly unavailable?: readonly { readonly catalog: string; readonly because: string }[];
}

/** Maximum number of sentences in a record. */
const MAX_SENTENCES = 500;

/** Returns a refusal as JSON. */
export function recordRefusal(bundle: string, refusal: DependencyRefusal): RefusalRecord {
  const { conflict, hint, unavailable } = refusal;
  const { faults, requires, provided, dependents } = conflict;
  return {
    bundle,
    reasons: formatRefusal(refusal, { all: true }),
    ...(faults.length > 0 ? { faults: faults.map(formatError) } : {}),
    ...(requires.length > 0 ? { requires } : {}),
    ...(provided.length > 0 ? { provided: provided.map(({ gvk, ...rest }) => ({ api: formatGvk(gvk), ...rest })) } : {}),
    ...(dependents.length > 0 ? { dependents } : {}),
    ...(hint?.kind === "none" ? { conflictSet: recordExplanation(hint.explanation) } : {}),
    ...(hint?.kind === "undecided" ? { exceeded: recordLimit(hint.limit) } : {}),
    ...(hint && hint.kind !== "none" && hint.kind !== "undecided" ? { remedy: recordRemedy(hint) } : {}),
    ...(unavailable.length > 0 ? { unavailable: unavailable.map((one) => ({ catalog: one.name, because: one.unavailable })) } : {}),
  };
}

function recordExplanation({
  sentences,
  isMinimal,
}: {
  readonly sentences: readonly ExplanationSentence[];
  readonly isMinimal: boolean;
}): NonNullable<RefusalRecord["conflictSet"]> {
  return { sentences: sentences.slice(0, MAX_SENTENCES), moreSentences: Math.max(0, sentences.length - MAX_SENTENCES), isMinimal };
}

function recordLimit(limit: SearchLimit): NonNullable<RefusalRecord["exceeded"]> {
  if (limit.kind === "reachability") return { limit: limit.limit, value: REACHABILITY_LIMITS[limit.limit] };
  if (limit.kind === "time") return { limit: "seconds", value: limit.seconds };
  return limit.kind === "steps" ? { limit: "steps", value: limit.steps } : { limit: "mebibytes", value: limit.mib };
}

function recordRemedy(remedy: Remedy): NonNullable<RefusalRecord["remedy"]> {
  const bundles = remedy.bundles.map(recordDependency);
  if (remedy.kind === "selectCatalog") return { kind: remedy.kind, catalog: remedy.catalog, bundles };
  if (remedy.kind === "steps") return { kind: remedy.kind, steps: remedy.steps.map(recordStep), bundles };
  if (remedy.kind === "offered") return { kind: remedy.kind, bundles };
  return { kind: remedy.kind, steps: remedy.updates.map((update) => recordStep({ kind: "update", ...update })), bundles };
}

function recordStep(step: RemedyStep): RecordedStep {
  const update = step.kind === "update" ? step : undefined;
  return {
    kind: step.kind,
    ...(update ? { extension: update.extension } : {}),
    ...recordDependency(step.bundle),
    ...(update?.excludedBy === undefined ? {} : { excludedBy: update.excludedBy }),
  };
}

function recordDependency({ packageName, name, catalog }: SolverBundle): RecordedDependency {
  return { package: packageName, bundle: name, ...(catalog === undefined ? {} : { catalog }) };
}
