import { ENCODINGS, type Encoding } from "../store/encodings.ts";

/**
 * The content coding to use for a client that sent this Accept-Encoding: of those there are, the one it weighs highest; ours first when it weighs
 * them alike; undefined for none. `*` stands for all that are not named.
 * @see RFC 9110 section 12.5.3
 */
export function chosenEncoding(header: string | undefined, available: readonly Encoding[] = ENCODINGS): Encoding | undefined {
  if (!header) return undefined;
  const weights = weightsIn(header);
  const gzip = weights.get("x-gzip");
  if (gzip !== undefined) weights.set("gzip", gzip);
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? weights.get("*") ?? 0;
  let best: Encoding | undefined;
  for (const encoding of available) if (weightOf(encoding) > (best === undefined ? 0 : weightOf(best))) best = encoding;
  return best;
}

/** The media type for a client that sent this Accept: of those there are, the one it weighs highest; the earlier one when it weighs them alike. */
export function preferredType(header: string | undefined, available: readonly string[]): string | undefined {
  const weights = weightsIn(header || "*/*");
  const weightOf = (type: string): number => weights.get(type) ?? weights.get(`${type.split("/", 1)[0]}/*`) ?? weights.get("*/*") ?? 0;
  return available.reduce<string | undefined>(
    (best, type) => (weightOf(type) > (best === undefined ? 0 : weightOf(best)) ? type : best),
    undefined,
  );
}

/** What stands in a header of weighed names, in lower case. */
function weightsIn(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const piece of header.split(",")) {
    const [name = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  return weights;
}
