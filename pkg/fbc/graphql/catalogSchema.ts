import * as z from "zod";

/** The GraphQL scalars that values become; an object where a scalar is expected becomes a String, its JSON text. */
const SCALARS = ["String", "Boolean", "Int", "Float"] as const;
/** A GraphQL scalar that values become. */
export type Scalar = (typeof SCALARS)[number];

/** A field as its keys and values tell it. */
export const DiscoveredField = z.object({
  /** Its GraphQL name. */
  name: z.string(),
  /** The keys that have this name, in the order they were met; usually one. */
  keys: z.array(z.string()),
  scalar: z.enum(SCALARS),
  list: z.boolean(),
});
export type DiscoveredField = z.output<typeof DiscoveredField>;

/** What the metas of one schema have in common. */
export const DiscoveredSchema = z.object({
  schema: z.string(),
  totalObjects: z.int().min(0),
  /** By name. A list whose elements are objects has the fields of these as `nested`. */
  fields: z.array(DiscoveredField.extend({ nested: z.array(DiscoveredField).optional() })),
  /** True where keys were left out, because there are too many or they are too long. */
  incomplete: z.boolean(),
});
export type DiscoveredSchema = z.output<typeof DiscoveredSchema>;
