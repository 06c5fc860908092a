/** A phrase that no text for users may contain. */
interface BannedPhrase {
  readonly phrase: RegExp;
  /** What to write instead. */
  readonly instead: string;
}

/** Phrases that are vague or unusual in the Kubernetes world, with what to write instead. */
const BANNED_PHRASES: readonly BannedPhrase[] = [
  { phrase: /\b(?:some|no)body\b/i, instead: "the actor: you, the controller, the API server" },
  { phrase: /\b(?:is|are|was|were|be|been) told\b/i, instead: "is reported, listed or printed" },
  { phrase: /\b(?:goes|go|going|went) on\b/i, instead: "continues, resumes or retries" },
  { phrase: /\bby (?:itself|themselves)\b/i, instead: "automatically" },
  { phrase: /\b(?:put|puts|putting) back\b/i, instead: "restores or corrects" },
  { phrase: /\banew\b/i, instead: "again, or a verb with re-" },
  { phrase: /\bof which\b/i, instead: "whose, or a sentence with the noun next to its verb" },
  { phrase: /\bwhere (?:there|one) (?:is|are)\b/i, instead: "if ... exists" },
  { phrase: /(?<!\bthere )\b(?:is|are) none\b/, instead: "does not exist, or is empty" },
  { phrase: /\bwhatever\b/i, instead: "any" },
  { phrase: /\bwith commas between\b/i, instead: "comma-separated" },
  { phrase: /\brights\b/i, instead: "permissions" },
  { phrase: /\b(?:as it is|as they are)\b/i, instead: "unchanged" },
  { phrase: /\ball the same\b/i, instead: "anyway" },
  { phrase: /\bbeside\b/i, instead: "next to, or in addition to" },
  { phrase: /\bas far as\b/i, instead: "if, or up to" },
  { phrase: /\bfor ever\b/i, instead: "indefinitely" },
  { phrase: /\bcomes? (?:right|about)\b/i, instead: "succeeds, or happens" },
  {
    phrase: /\bwhat is (?:installed|missing|wrong|served|needed|wanted)\b/i,
    instead: "the noun: the installed bundle, the missing permissions",
  },
  { phrase: /(?<!\b[Tt]here )\bis no (?!longer\b)[a-z]+/, instead: "is not a ..." },
];

/** Returns each banned phrase in a text, with what to write instead. */
export function findBannedPhrases(text: string): string[] {
  return BANNED_PHRASES.flatMap(({ phrase, instead }) => {
    const match = phrase.exec(text);
    return match ? [`"${match[0]}": write ${instead}`] : [];
  });
}
