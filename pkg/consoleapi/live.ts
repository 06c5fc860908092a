import * as z from "zod/mini";
import { ExtensionTabName } from "./extensionTab.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** How good a state is; determines its colour and icon. */
export const StateMood = z.enum(["good", "warning", "bad", "faint", "strong"]);
export type StateMood = z.infer<typeof StateMood>;

/** A state in a word or two, with its mood. */
export const MoodText = z.object({ text: z.string(), mood: z.optional(StateMood) });
export type MoodText = z.infer<typeof MoodText>;

/** Why an object needs attention: one sentence and the next steps. */
export const Attention = z.object({
  /** `error`: it does not work. `warning`: it works, with a risk. `info`: it waits for a decision or a process. */
  severity: z.enum(["error", "warning", "info"]),
  sentence: z.string(),
  /** Most useful first. */
  next: z.array(SuggestedStep),
  /** The tab of an extension that explains it. */
  tab: z.optional(ExtensionTabName),
});
export type Attention = z.infer<typeof Attention>;

/** One ClusterExtension in the list of extensions. */
export const ExtensionRow = z.object({
  name: z.string(),
  uid: z.string(),
  /** Changes with each change of the object. */
  resourceVersion: z.string(),
  package: z.string(),
  /** Version of the installed bundle; absent if no bundle is installed. */
  version: z.optional(z.string()),
  bundle: z.optional(z.string()),
  /** Catalog of the installed bundle. */
  catalog: z.optional(z.string()),
  namespace: z.string(),
  serviceAccount: z.string(),
  channels: z.array(z.string()),
  /** Version range; absent for any version. */
  range: z.optional(z.string()),
  approval: z.string(),
  state: MoodText,
  /** The available version, or the newest blocked version. */
  update: MoodText,
  /** Absent if the OLM of the cluster does not report updates. */
  hasUpdate: z.optional(z.boolean()),
  /** Digest of the plan that waits for approval. */
  pendingPlan: z.optional(z.string()),
  deprecated: z.boolean(),
  /** Support phase of the installed version; absent if its catalog has no support phases of the package. */
  support: z.optional(MoodText),
  /** Such as `suspended`, `pinned to revision 2`. */
  holds: z.array(z.string()),
  /** Types of the Errors and Warnings in `status.problems`. */
  problems: z.array(z.string()),
  /** Numbers of installed and of all bundles of a dependency plan in progress. */
  plan: z.optional(z.object({ installed: z.number(), all: z.number() })),
  /** RFC 3339. */
  created: z.optional(z.string()),
  /** Time of the last transition of the condition that decides the state, in RFC 3339. */
  changed: z.optional(z.string()),
  attention: z.optional(Attention),
});
export type ExtensionRow = z.infer<typeof ExtensionRow>;

/** One ClusterCatalog in the list of catalogs. */
export const CatalogRow = z.object({
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  state: MoodText,
  image: z.string(),
  /** Digest of the served image. */
  digest: z.optional(z.string()),
  priority: z.number(),
  /** Time of the last unpack, in RFC 3339. */
  unpacked: z.optional(z.string()),
  pollMinutes: z.optional(z.number()),
  labels: z.record(z.string(), z.string()),
  /** Number of findings in the content. */
  findings: z.number(),
  created: z.optional(z.string()),
  attention: z.optional(Attention),
});
export type CatalogRow = z.infer<typeof CatalogRow>;

/**
 * Why the console cannot read from the API server. `unreachable`: it does not respond. `certificate`: its certificate is not valid. `credentials`: the
 * user has no valid credentials. `errors`: it responds with errors.
 */
export const ConnectionFailure = z.enum(["unreachable", "certificate", "credentials", "errors"]);
export type ConnectionFailure = z.infer<typeof ConnectionFailure>;

/** The connection between console and API server for one kind. */
export const WatchState = z.object({
  /** `missing`: the cluster does not serve the kind. */
  state: z.enum(["loading", "current", "disconnected", "forbidden", "missing"]),
  /** Present if the state is `disconnected`. */
  failure: z.optional(ConnectionFailure),
  /** The error. */
  message: z.optional(z.string()),
  /** Whether the rows were complete at any time. */
  isLoaded: z.boolean(),
  /** Since when, in RFC 3339. */
  since: z.string(),
});
export type WatchState = z.infer<typeof WatchState>;

const changes = <T extends z.ZodMiniType>(row: T) => z.object({ changed: z.array(row), removed: z.array(z.string()) });

/** One message of the event stream: all changes since the previous message. */
export const LiveUpdate = z.object({
  /** Whether the message contains all rows, which replace those of earlier messages. */
  isReset: z.boolean(),
  extensions: changes(ExtensionRow),
  catalogs: changes(CatalogRow),
  watches: z.object({ extensions: WatchState, catalogs: WatchState }),
});
export type LiveUpdate = z.infer<typeof LiveUpdate>;
