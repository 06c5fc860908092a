import * as z from "zod";

/** How sound a content is; the findings themselves are its part "findings". */
export const FindingsSummary = z.object({
  errors: z.int().min(0),
  warnings: z.int().min(0),
  /** The first ten, errors first, each on one line of at most 512 characters. */
  first: z.array(z.string()),
});
export type FindingsSummary = z.output<typeof FindingsSummary>;

/** A content in which nothing was found. */
export const NO_FINDINGS: FindingsSummary = { errors: 0, warnings: 0, first: [] };
