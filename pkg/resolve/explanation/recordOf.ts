import { CAUSE_LENGTH, truncate, NAME_LENGTH } from "../../text/truncate.ts";
import { compareNewestFirst } from "../../fbc/bundleOrder.ts";
import type { CatalogContent } from "../catalogContent.ts";
import type { Findings, Query } from "../filters.ts";
import { offersOf } from "../offers.ts";
import type { Considered, Resolution } from "../resolution.ts";
import { silenceReason } from "../unresolved.ts";
import { versionOf } from "../wording.ts";
import { type FilterStep, filterSteps } from "./filterSteps.ts";
import { decided, recordedBundle, runnerUpOf } from "./ranking.ts";
import type { AskedRecord, CatalogRecord, FilterRecord, OutcomeRecord, RecordedBundle, ResolutionRecord } from "./record.ts";

const MAX_CATALOGS = 32;
const MAX_REMOVED = 10;
const MAX_LISTED = 10;
const MAX_NEAR = 5;
/** Longest explanation or text of the reference implementation, in characters. */
const MAX_TEXT = 8_192;

/** How a resolution went. Pure; the order in which catalogs and bundles came makes no difference. */
export function recordOf(packageName: string, resolution: Resolution): ResolutionRecord {
  const { considered } = resolution;
  const selected = (considered?.selected ?? []).toSorted((a, b) => b.priority - a.priority);
  return {
    formatVersion: 1,
    package: truncate(packageName, NAME_LENGTH),
    ...(considered ? { asked: askedOf(considered) } : {}),
    catalogs: considered ? selected.slice(0, MAX_CATALOGS).map((catalog) => catalogRecord(catalog, considered)) : [],
    moreCatalogs: Math.max(0, selected.length - MAX_CATALOGS),
    outcome: outcomeOf(resolution),
  };
}

function askedOf({ query, installed }: Considered): AskedRecord {
  const { channels, range, edgesDecide, clusterDecides, cluster } = query;
  return {
    ...(channels.length > 0 ? { channels: channels.slice(0, MAX_LISTED).map((name) => truncate(name, NAME_LENGTH)) } : {}),
    ...(range ? { version: truncate(range.text, NAME_LENGTH) } : {}),
    upgradeConstraintPolicy: edgesDecide ? "CatalogProvided" : "SelfCertified",
    clusterVersionPolicy: clusterDecides ? "Enforce" : "Warn",
    ...(installed ? { installed: { bundle: installed.name, version: installed.version } } : {}),
    ...(cluster.kind === "known" ? { clusterVersion: cluster.text } : {}),
  };
}

function catalogRecord(catalog: CatalogContent, { findings, query }: Considered): CatalogRecord {
  const { name, priority } = catalog;
  const head = { catalog: name, priority };
  if (catalog.unavailable !== undefined)
    return { ...head, state: "silent", because: truncate(silenceReason(catalog), CAUSE_LENGTH), bundles: 0, filters: [] };
  const found = findings.find(({ catalog }) => catalog === name);
  if (!found) return { ...head, state: "withoutPackage", bundles: 0, filters: [] };
  const { steps, emptied } = untilEmpty(found, query);
  return {
    ...head,
    state: "asked",
    bundles: found.all.length,
    filters: steps.map(filterRecord),
    ...(emptied
      ? {
          emptiedBy: emptied.name,
          near: emptied
            .near()
            .slice(0, MAX_NEAR)
            .map((text) => truncate(text, CAUSE_LENGTH)),
        }
      : {}),
    ...(found.best ? { best: recordedBundle({ found, candidate: found.best }) } : {}),
  };
}

function untilEmpty(found: Findings, query: Query): { steps: readonly FilterStep[]; emptied: FilterStep | undefined } {
  const steps = filterSteps(found, query);
  const at = found.all.length === 0 ? 0 : steps.findIndex(({ left }) => left.length === 0);
  return at === -1
    ? { steps, emptied: undefined }
    : { steps: steps.slice(0, at + 1), emptied: found.all.length === 0 ? undefined : steps[at] };
}

function filterRecord({ name, asks, left, removed, rule }: FilterStep): FilterRecord {
  const last = removed.toSorted(compareNewestFirst).slice(0, MAX_REMOVED);
  return {
    filter: name,
    asks: truncate(asks, CAUSE_LENGTH),
    left: left.length,
    removed: removed.length,
    last: last.map((candidate) => ({
      bundle: truncate(candidate.bundle.name, NAME_LENGTH),
      ...(candidate.version ? { version: truncate(versionOf(candidate), NAME_LENGTH) } : {}),
      rule: truncate(rule(candidate), CAUSE_LENGTH),
    })),
  };
}

function outcomeOf(resolution: Resolution): OutcomeRecord {
  const explanation = truncate(resolution.explanation, MAX_TEXT);
  if (resolution.kind === "unresolved") {
    const { cause, reason, considered } = resolution;
    const tied = considered && cause === "ambiguous" ? tiedIn(considered) : [];
    return { kind: "unresolved", cause, reason: truncate(reason, MAX_TEXT), explanation, ...(tied.length > 0 ? { tied } : {}) };
  }
  const { catalog, edge, notes, considered } = resolution;
  const found = considered.findings.find((one) => one.catalog === catalog);
  if (!found?.best) throw new Error(`catalog ${catalog} of the chosen bundle was not considered`);
  const winner = { found, candidate: found.best };
  const second = runnerUpOf(considered.findings, winner);
  return {
    kind: "resolved",
    winner: recordedBundle(winner),
    ...(edge ? { edge: edge.via === "stay" ? "stay" : truncate(`${edge.via} in channel ${edge.channel}`, CAUSE_LENGTH) } : {}),
    ...(second ? { runnerUp: recordedBundle(second), ...decided(winner, second) } : {}),
    explanation,
    notes: notes.slice(0, MAX_LISTED).map((note) => truncate(note, CAUSE_LENGTH)),
  };
}

function tiedIn({ findings }: Considered): RecordedBundle[] {
  const offers = offersOf(findings);
  const tied = offers.filter(({ priority }) => priority === offers[0]?.priority);
  return tied.slice(0, MAX_LISTED).map((found) => recordedBundle({ found, candidate: found.best }));
}
