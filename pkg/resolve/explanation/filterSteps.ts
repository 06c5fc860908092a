import { truncate } from "../../text/truncate.ts";
import { goQuote } from "../../golang/quote.ts";
import { type Candidate, entryNames } from "../candidates.ts";
import { objectionText } from "../clusterObjection.ts";
import type { Findings, Query } from "../filters.ts";
import { listed } from "../wording.ts";
import { nearChannels, nearCluster, nearRange, nearSuccessors } from "./nearest.ts";

/** One filter as it went over the candidates of one catalog. */
export interface FilterStep {
  /** As records name it: channels, versionRange, upgradeEdges, clusterVersion, deprecation, or the name of a later filter. */
  readonly name: string;
  /** What it asks for, such as `in channels [beta]`. */
  readonly asks: string;
  /** In the catalog's order. */
  readonly left: readonly Candidate[];
  readonly removed: readonly Candidate[];
  /** Why one of those was removed, a clause. */
  readonly rule: (candidate: Candidate) => string;
  /** What would have been near, where nothing is left; clauses. */
  readonly near: () => string[];
}

/** How a filter of `findIn` is told. */
interface Description {
  readonly name: string;
  /** Undefined where the query does not ask for it. */
  readonly asks: (query: Query, findings: Findings) => string | undefined;
  readonly left: (findings: Findings) => readonly Candidate[];
  readonly rule: (candidate: Candidate, findings: Findings, query: Query) => string;
  readonly near: (findings: Findings, query: Query) => string[];
}

/** Longest text of a deprecation that is told, in characters. */
const MAX_MESSAGE = 200;

const CHANNELS: Description = {
  name: "channels",
  asks: ({ channels }) => (channels.length > 0 ? `in channels ${listed(channels)}` : undefined),
  left: ({ inChannels }) => inChannels,
  rule: (candidate, findings) => `it is in ${channelsWith(candidate, findings)}`,
  near: nearChannels,
};
const VERSION_RANGE: Description = {
  name: "versionRange",
  asks: ({ range }) => range && `matching ${goQuote(range.text)}`,
  left: ({ inRange }) => inRange,
  rule: ({ version }, _, { range }) => (version ? `${goQuote(range?.text ?? "")} does not match it` : "it has no version that can be read"),
  near: nearRange,
};
const UPGRADE_EDGES: Description = {
  name: "upgradeEdges",
  asks: ({ installed, edgesDecide }) => (installed && edgesDecide ? `a direct successor of ${goQuote(installed.name)}` : undefined),
  left: ({ eligible }) => eligible,
  rule: (_, __, { installed, channels }) =>
    `no edge ${channels.length > 0 ? `of channels ${listed(channels)} ` : ""}leads to it from ${goQuote(installed?.name ?? "")}`,
  near: nearSuccessors,
};
const CLUSTER_VERSION: Description = {
  name: "clusterVersion",
  asks: ({ clusterDecides, cluster }) =>
    clusterDecides && cluster.kind !== "none" ? "that clusterVersionPolicy Enforce allows" : undefined,
  left: ({ ruledOut, eligible }) => without(eligible, new Set(ruledOut.map(({ candidate }) => candidate))),
  rule: (candidate, { ruledOut }) => {
    const found = ruledOut.find((one) => one.candidate === candidate);
    return found ? objectionText(found.objection) : "";
  },
  near: nearCluster,
};
/** The filters of `findIn` in their order. */
const FILTERS: readonly Description[] = [CHANNELS, VERSION_RANGE, UPGRADE_EDGES, CLUSTER_VERSION];

/** What each filter that the query asks for left of a catalog's candidates, in order; at last the preference of what is not deprecated. */
export function filterSteps(findings: Findings, query: Query): FilterStep[] {
  const steps: FilterStep[] = [];
  let before = findings.all;
  const add = (step: Omit<FilterStep, "removed">): void => {
    steps.push({ ...step, removed: without(before, new Set(step.left)) });
    before = step.left;
  };
  for (const { name, asks, left, rule, near } of FILTERS) {
    const asked = asks(query, findings);
    if (asked === undefined) continue;
    add({
      name,
      asks: asked,
      left: left(findings),
      rule: (candidate) => rule(candidate, findings, query),
      near: () => near(findings, query),
    });
  }
  for (const { name, asks, removed, near } of findings.later)
    add({
      name,
      asks,
      left: before.filter((candidate) => !removed.has(candidate)),
      rule: (candidate) => removed.get(candidate) ?? "",
      near: () => [...near],
    });
  const sound = before.filter(({ deprecated }) => !deprecated);
  if (sound.length > 0 && sound.length < before.length)
    add({ name: "deprecation", asks: "not deprecated", left: sound, rule: (one) => deprecationRule(one, findings), near: () => [] });
  return steps;
}

/** Such as `channels [a b]`, or `no channel`. */
export function channelsWith({ bundle }: Candidate, { content }: Findings): string {
  const names = content.channels.filter((channel) => entryNames([channel]).has(bundle.name)).map(({ name }) => name);
  return names.length > 0 ? `channels ${listed(names.sort())}` : "no channel";
}

function deprecationRule({ bundle }: Candidate, { deprecations }: Findings): string {
  const entry = deprecations?.entries.find(({ reference }) => reference.schema === "olm.bundle" && reference.name === bundle.name);
  return entry?.message ? `it is deprecated: ${truncate(entry.message, MAX_MESSAGE)}` : "it is deprecated";
}

function without(all: readonly Candidate[], left: ReadonlySet<Candidate>): Candidate[] {
  return all.filter((candidate) => !left.has(candidate));
}
