import * as z from "zod/mini";
import { MoodText } from "./live.ts";

/** A rule that excludes a version, with what would lift it. */
export const VersionRule = z.object({
  /** Such as `upgradeEdges`. */
  rule: z.string(),
  /** Such as `Upgrade path`. */
  title: z.string(),
  text: z.string(),
  /** Empty if nothing lifts it. */
  remedy: z.string(),
  /** Whether it only prefers another version. */
  isPreference: z.boolean(),
});
export type VersionRule = z.infer<typeof VersionRule>;

/** Other limits that would select a version. An absent member stays. */
export const LimitAttempt = z.object({
  range: z.optional(z.string()),
  channels: z.optional(z.array(z.string())),
  policy: z.optional(z.enum(["CatalogProvided", "SelfCertified"])),
});
export type LimitAttempt = z.infer<typeof LimitAttempt>;

/**
 * What resolution makes of a version:
 * - `chosen`: it is chosen.
 * - `installed`: it is installed, and another version is chosen.
 * - `allowed`: no rule excludes it, and another version is preferred.
 * - `later`: it is reached by several upgrades, one after the other.
 * - `blocked`: a rule excludes it.
 * - `older`: it is older than the installed version.
 */
export const VersionState = z.enum(["chosen", "installed", "allowed", "later", "blocked", "older"]);
export type VersionState = z.infer<typeof VersionState>;

/** One version of the package in one catalog. */
export const WhyVersion = z.object({
  catalog: z.string(),
  bundle: z.string(),
  /** With its release; absent if it is invalid. */
  version: z.optional(z.string()),
  channels: z.array(z.string()),
  headOf: z.array(z.string()),
  /** As the author states it. */
  created: z.optional(z.string()),
  /** Deprecation message, at most 500 characters. */
  deprecated: z.optional(z.string()),
  isInstalled: z.boolean(),
  state: VersionState,
  label: MoodText,
  /** Why it has the state, one sentence. */
  reason: z.string(),
  /** All rules that exclude it, without dependencies if another filter excludes it. */
  rules: z.array(VersionRule),
  /** Intermediate versions of the upgrade from the installed version; empty for one step; absent if no path leads there. */
  path: z.optional(z.array(z.string())),
  /** Absent if other limits of the extension cannot select it. */
  attempt: z.optional(LimitAttempt),
});
export type WhyVersion = z.infer<typeof WhyVersion>;

/** The lines of all upgrade edges of one type to one version, as SVG path data. */
export const GraphLane = z.object({
  type: z.enum(["replaces", "skips", "skipRange"]),
  range: z.optional(z.string()),
  /** Index of the node. */
  to: z.number(),
  /** Indexes of nodes. */
  from: z.array(z.number()),
  line: z.string(),
  arrow: z.string(),
  dots: z.array(z.object({ x: z.number(), y: z.number() })),
});
export type GraphLane = z.infer<typeof GraphLane>;

/** A drawing of a channel: each node is a row, newest first. Lengths are in pixels. */
export const GraphDrawing = z.object({
  width: z.number(),
  height: z.number(),
  /** Left edge and size of all boxes. */
  box: z.object({ x: z.number(), width: z.number(), height: z.number() }),
  lanes: z.array(GraphLane),
});
export type GraphDrawing = z.infer<typeof GraphDrawing>;

/** A version in the graph of a channel. */
export const VersionNode = z.object({
  bundle: z.string(),
  label: z.string(),
  /** Upper edge of the box. */
  y: z.number(),
  /** Whether an entry of the channel replaces or skips it, and the channel does not contain it. */
  isAbsent: z.boolean(),
});
export type VersionNode = z.infer<typeof VersionNode>;

/** A channel of the package in one catalog, and its upgrade graph. */
export const WhyChannel = z.object({
  catalog: z.string(),
  name: z.string(),
  isDefault: z.boolean(),
  /** Whether `spec.source.catalog.channels` contains it, or is empty. */
  isRequested: z.boolean(),
  deprecated: z.optional(z.string()),
  entries: z.number(),
  /** Where the installed version is, if the channel does not contain it. */
  hint: z.optional(z.string()),
  nodes: z.array(VersionNode),
  /** The edges that replace a version, and those from the installed version. */
  main: z.optional(GraphDrawing),
  /** All edges; absent if `main` has all of them, or if there are too many. */
  all: z.optional(GraphDrawing),
  /** Why the channel has no drawing. */
  undrawn: z.optional(z.string()),
});
export type WhyChannel = z.infer<typeof WhyChannel>;

/** What one filter did in one catalog. */
const FunnelStep = z.object({
  filter: z.string(),
  title: z.string(),
  asks: z.string(),
  left: z.number(),
  removed: z.number(),
  /** The newest removed versions, at most ten. */
  last: z.array(z.object({ bundle: z.string(), version: z.optional(z.string()), rule: z.string() })),
});

/** How the candidates of one catalog were filtered. */
export const CatalogFunnel = z.object({
  catalog: z.string(),
  priority: z.number(),
  state: MoodText,
  /** Why it has no candidates. */
  because: z.optional(z.string()),
  bundles: z.number(),
  steps: z.array(FunnelStep),
  /** Alternatives if no candidate is left, at most five. */
  near: z.array(z.string()),
  best: z.optional(z.string()),
});
export type CatalogFunnel = z.infer<typeof CatalogFunnel>;

const reference = z.object({ package: z.string(), bundle: z.string(), catalog: z.optional(z.string()) });

/** Why a bundle cannot be installed because of dependencies. All lists have at most 100 elements. */
export const RefusalView = z.object({
  bundle: z.string(),
  reasons: z.array(z.string()),
  requires: z.array(z.string()),
  provided: z.array(z.object({ api: z.string(), extension: z.string(), bundle: z.string() })),
  dependents: z.array(z.object({ extension: z.string(), bundle: z.string(), requires: z.array(z.string()) })),
  /** Sentences that together exclude every solution, with the bundles they are about. */
  conflict: z.array(z.object({ text: z.string(), kind: z.string(), bundles: z.array(reference), needs: z.array(z.string()) })),
  /** What must happen before, one sentence each. */
  remedy: z.array(z.string()),
});
export type RefusalView = z.infer<typeof RefusalView>;

/** The limits in the source of an extension that the page can change. */
export const SourceLimits = z.object({
  /** Empty for any version. */
  range: z.string(),
  /** Empty for all channels. */
  channels: z.array(z.string()),
  policy: z.enum(["CatalogProvided", "SelfCertified"]),
});
export type SourceLimits = z.infer<typeof SourceLimits>;

/** A changed source, to copy. */
export const LimitChange = z.object({
  /** Whether the limits differ from those of the extension. */
  isChanged: z.boolean(),
  /** The whole manifest without server-side fields. */
  yaml: z.string(),
  /** A merge patch as JSON. */
  patch: z.string(),
  command: z.string(),
});
export type LimitChange = z.infer<typeof LimitChange>;

/** Why an extension gets its version. */
export const Why = z.object({
  package: z.string(),
  installed: z.optional(z.object({ bundle: z.string(), version: z.string(), catalog: z.optional(z.string()) })),
  /** The limits that the answer is about. */
  limits: SourceLimits,
  current: SourceLimits,
  change: LimitChange,
  outcome: z.object({
    state: MoodText,
    /** The chosen version, or why none is chosen; one sentence. */
    title: z.string(),
    explanation: z.string(),
    chosen: z.optional(
      z.object({ bundle: z.string(), version: z.optional(z.string()), catalog: z.string(), edge: z.optional(z.string()) }),
    ),
    runnerUp: z.optional(z.object({ bundle: z.string(), version: z.optional(z.string()), catalog: z.string(), because: z.string() })),
    /** At most 20. */
    notes: z.array(z.string()),
    similarPackages: z.array(z.string()),
  }),
  /** What could not be checked, and catalogs that could not be read, one sentence each; at most 50. */
  unchecked: z.array(z.string()),
  /** At most 32. */
  funnels: z.array(CatalogFunnel),
  refusals: z.array(RefusalView),
  /** Highest first; at most 1000. */
  versions: z.array(WhyVersion),
  omittedVersions: z.number(),
  /** The version that the page shows first: the newest one that is not chosen although it is newer, else the chosen one. */
  first: z.optional(z.object({ catalog: z.string(), bundle: z.string() })),
  /** The default channel first; at most 200. */
  channels: z.array(WhyChannel),
  /** Index of the channel that the page shows first. */
  firstChannel: z.number(),
});
export type Why = z.infer<typeof Why>;

/** Everything that excludes one version, with its dependencies. */
export const WhyNotVersion = z.object({
  verdict: z.enum(["chosen", "notChosen", "absent"]),
  rules: z.array(VersionRule),
  refusals: z.array(RefusalView),
  unchecked: z.array(z.string()),
});
export type WhyNotVersion = z.infer<typeof WhyNotVersion>;
