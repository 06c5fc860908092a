import * as z from "zod/mini";
import { MoodText } from "./live.ts";
import { ChangeCounts, ObjectChangeRow, OfferedAction } from "./plan.ts";

/** A release of an extension. */
export const Revision = z.object({
  revision: z.number(),
  state: MoodText,
  version: z.string(),
  bundle: z.string(),
  /** RFC 3339; absent if unknown. */
  deployed: z.optional(z.string()),
  /** Who or what caused the revision; absent if unknown. */
  cause: z.optional(z.string()),
  description: z.string(),
  isCurrent: z.boolean(),
  isPinned: z.boolean(),
  rollBack: z.optional(OfferedAction),
});
export type Revision = z.infer<typeof Revision>;

/** The releases of an extension, newest first; at most 20. */
const Revisions = z.object({
  revisions: z.array(Revision),
  /** Why there are none although a bundle is installed. */
  note: z.optional(z.string()),
  /** Sentences about releases that cannot be read. */
  unreadable: z.array(z.string()),
  /** The revision to which the extension is pinned. */
  pin: z.optional(z.string()),
  removePin: z.optional(OfferedAction),
  command: z.string(),
});

/** A drifted field. Values are JSON of at most 200 characters; those of Secrets are masked. */
const DriftField = z.object({
  path: z.string(),
  /** Who changed it; empty if unknown. */
  managers: z.array(z.string()),
  /** The value in the cluster. */
  live: z.optional(z.string()),
  /** The value in the bundle. */
  released: z.optional(z.string()),
});

/** The drift that the controller reports and does not correct. */
const Drift = z.object({
  policy: z.enum(["Correct", "Warn", "Ignore"]),
  /** What the policy does, as a sentence. */
  meaning: z.string(),
  /** At most 100. */
  objects: z.array(
    z.object({
      kind: z.string(),
      namespace: z.optional(z.string()),
      name: z.string(),
      /** Such as `changed` or `deleted`. */
      what: z.string(),
      /** At most 100. */
      fields: z.array(DriftField),
      /** Whether the values in the cluster and in the bundle are known; the user may lack the permission to read them. */
      hasLive: z.boolean(),
      hasReleased: z.boolean(),
    }),
  ),
  /** Why some objects are not watched. */
  unwatched: z.optional(z.string()),
  /** The other policies. */
  offers: z.array(OfferedAction),
  /** YAML that makes the controller keep the drifted fields; absent without drift. */
  ignore: z.optional(z.string()),
});

const PartError = z.object({ error: z.string() });
/** Why a part does not exist, as a sentence. */
const PartNote = z.object({ note: z.string() });

/** The releases and the drift of an extension. A part that cannot be read has an error. */
export const ExtensionHistory = z.object({ releases: z.union([Revisions, PartError]), drift: z.union([Drift, PartNote, PartError]) });
export type ExtensionHistory = z.infer<typeof ExtensionHistory>;

const Compared = z.object({ revision: z.number(), bundle: z.string(), version: z.string() });

/** The difference between the rendered objects of two releases. */
export const RevisionComparison = z.object({
  from: Compared,
  to: Compared,
  counts: ChangeCounts,
  /** Changed objects first, at most 1,000. */
  objects: z.array(ObjectChangeRow),
  omittedObjects: z.number(),
});
export type RevisionComparison = z.infer<typeof RevisionComparison>;
