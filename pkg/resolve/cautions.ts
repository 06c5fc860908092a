import { truncate } from "../text/truncate.ts";
import { goQuote } from "../golang/quote.ts";
import { stepBetween } from "../version/step.ts";
import type { Candidate } from "./candidates.ts";
import { edgeTo, type Findings, type Query } from "./filters.ts";
import { skippedBy } from "./successors.ts";
import { versionOf } from "./wording.ts";

/** Longest sentence, in characters; it quotes what a catalog says. */
const MAX_CAUTION = 600;

/**
 * What is disregarded when `best` is moved to, a sentence each: that no upgrade edge leads to it, which only SelfCertified allows, and that an
 * entry of the channels that count skips it. Nothing for the bundle that is installed already.
 */
export function cautionsOn({ edges, channels }: Pick<Findings, "edges" | "channels">, best: Candidate, query: Query): string[] {
  const edge = edgeTo(best, query, edges);
  if (edge?.via === "stay") return [];
  const subject = `bundle ${goQuote(best.bundle.name)} (version ${versionOf(best)}) was chosen although`;
  const cautions: string[] = [];
  const { installed } = query;
  if (installed && !edge) {
    const step = stepBetween(installed.version, versionOf(best));
    const kind = step === "rollback" ? "a rollback" : step === "major" ? "a major step" : undefined;
    const risk = kind ? `; ${kind} may lose data: see what its author says of it` : "";
    const from = `${goQuote(installed.name)} (version ${installed.version})`;
    cautions.push(`${subject} no upgrade edge leads to it from ${from}: upgradeConstraintPolicy SelfCertified overrides the edges${risk}`);
  }
  const [first] = skippedBy(channels, best.bundle.name);
  if (first) cautions.push(`${subject} entry ${goQuote(first.entry)} of channel ${goQuote(first.channel)} skips it`);
  return cautions.map((caution) => truncate(caution, MAX_CAUTION));
}
