import * as z from "zod/mini";
import { MoodText } from "./live.ts";

/** A reference to an object. Without `namespace`, it is cluster-scoped. */
export const ShownObject = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  namespace: z.optional(z.string()),
  name: z.string(),
});
export type ShownObject = z.infer<typeof ShownObject>;

/** An Event, or several with the same text. */
export const EventRow = z.object({
  /** Such as `Normal` and `Warning`. */
  type: z.string(),
  reason: z.string(),
  /** At most 2,000 characters. */
  message: z.string(),
  count: z.number(),
  /** Time of the last occurrence, in RFC 3339. */
  lastSeen: z.string(),
});
export type EventRow = z.infer<typeof EventRow>;

/** Events, newest first, at most 100; or why they cannot be read. */
export const EventRows = z.union([z.array(EventRow), z.object({ error: z.string() })]);
export type EventRows = z.infer<typeof EventRows>;

/** A node of the tree of an extension. */
export const ObjectTreeNode = z.object({
  /** Unique in the tree; stays the same while the object exists. */
  id: z.string(),
  kind: z.enum(["extension", "object", "plan", "planMember", "bundle", "omitted", "note"]),
  /** Kind of the object, such as `Deployment`; empty for other nodes. */
  title: z.string(),
  /** Name and namespace, or a text. */
  text: z.string(),
  /** At most 1,024 characters. */
  message: z.string(),
  state: z.optional(MoodText),
  /** The object to show; absent if it cannot be read. */
  object: z.optional(ShownObject),
  /** Name of the ClusterExtension of the node. */
  extension: z.optional(z.string()),
  /** Whether the node or a node below it does not work. */
  isFailing: z.boolean(),
  get children() {
    return z.array(ObjectTreeNode);
  },
});
export type ObjectTreeNode = z.infer<typeof ObjectTreeNode>;

/** The tree of an extension. */
export const ObjectTree = z.object({
  root: ObjectTreeNode,
  /** Number of nodes that do not work, without the nodes above them. */
  failing: z.number(),
});
export type ObjectTree = z.infer<typeof ObjectTree>;

/** A container of a Pod. */
export const ContainerRow = z.object({
  name: z.string(),
  kind: z.enum(["init", "sidecar", "container", "ephemeral"]),
  image: z.string(),
  state: MoodText,
  /** Such as `exit code 1 (Error)`; empty if there is nothing to say. At most 1,024 characters. */
  message: z.string(),
  restarts: z.number(),
  /** Whether an earlier instance has a log. */
  hasPrevious: z.boolean(),
});
export type ContainerRow = z.infer<typeof ContainerRow>;

/** One object of the cluster, with the permissions of the user. */
export const ObjectView = z.object({
  reference: ShownObject,
  state: MoodText,
  message: z.string(),
  created: z.optional(z.string()),
  owners: z.array(ShownObject),
  /** The object as YAML without managed fields; at most 1 MB. Secrets contain no values. */
  yaml: z.string(),
  json: z.string(),
  /** The managed fields as YAML; absent if the object has no managed fields. */
  managedFields: z.optional(z.string()),
  /** What is left out of the YAML; empty if nothing is. */
  notes: z.array(z.string()),
  events: EventRows,
  /** Containers of a Pod, those that do not work first. */
  containers: z.optional(z.array(ContainerRow)),
});
export type ObjectView = z.infer<typeof ObjectView>;

/** Limits of logs. */
export const LOG_LIMITS = {
  /** Lines that the console asks for at most. */
  tail: 10_000,
  /** Bytes that the page keeps. */
  bytes: 2 * 1024 * 1024,
} as const;
