import * as z from "zod/mini";

/** What a user can do next: a command to copy, or a sentence, or both. At least one of them is present. */
export const SuggestedStep = z.object({
  /** A sentence, before the command. */
  text: z.optional(z.string()),
  command: z.optional(z.string()),
  /** When the command helps, such as `if it worked before an upgrade`. */
  note: z.optional(z.string()),
});
export type SuggestedStep = z.infer<typeof SuggestedStep>;
