import { DiscoveredSchema, planSchemas } from "../../fbc/graphql/catalogSchema.ts";
import { buildSchema } from "./buildSchema.ts";
import type { GraphQLSchema } from "graphql";
import * as z from "zod";

/** A line of part "graphql". */
const Line = z.union([z.strictObject({ leftOut: z.int() }), DiscoveredSchema]);

/** The schema that part "graphql" tells. @throws Error when it is none. */
export function storedSchema(part: Uint8Array): GraphQLSchema {
  const lines = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Line.parse(JSON.parse(line)));
  const schemas = lines.flatMap((line) => ("leftOut" in line ? [] : [line]));
  const leftOut = lines.reduce((sum, line) => sum + ("leftOut" in line ? line.leftOut : 0), 0);
  return buildSchema(planSchemas(schemas), leftOut);
}
