import type { DerivedPart } from "../store/parts.ts";
import { summaryParts } from "../summary/summaryParts.ts";
import { GraphqlPart } from "./graphqlPart.ts";
import type { PartMaker } from "./partMaker.ts";

/** A new maker for each derived part. */
export function partMakers(): Partial<Record<DerivedPart, PartMaker>> {
  return { ...summaryParts(), graphql: new GraphqlPart() };
}
