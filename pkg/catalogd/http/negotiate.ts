import { ENCODINGS, type Encoding } from "../encodings.ts";

/**
 * The content coding to use for a client that sent this Accept-Encoding: of those there are, the one it weighs highest; ours first when it weighs
 * them alike; undefined for none. `*` stands for all that are not named.
 * @see RFC 9110 section 12.5.3
 */
export function chosenEncoding(header: string | undefined, available: readonly Encoding[] = ENCODINGS): Encoding | undefined {
  if (!header) return undefined;
  const weights = new Map<string, number>();
  for (const piece of header.split(",")) {
    const [coding = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(coding === "x-gzip" ? "gzip" : coding, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? weights.get("*") ?? 0;
  let best: Encoding | undefined;
  for (const encoding of available) if (weightOf(encoding) > (best === undefined ? 0 : weightOf(best))) best = encoding;
  return best;
}
