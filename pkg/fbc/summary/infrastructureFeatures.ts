import { words } from "../boundedTexts.ts";

const LIST = "operators.openshift.io/infrastructure-features";
const SINGLE = "features.operators.openshift.io/";
/** Names of the older list, in small letters, that the newer annotations spell otherwise. */
const NEWER_NAME: ReadonlyMap<string, string> = new Map([
  ["fips", "fips-compliant"],
  ["fipsmode", "fips-compliant"],
  ["fips-mode", "fips-compliant"],
  ["proxy", "proxy-aware"],
]);
const FEATURE = /^[\w.-]{1,63}$/;

/**
 * The infrastructure features that annotations of a ClusterServiceVersion claim, sorted, by the names of the newer annotations
 * (`features.operators.openshift.io/NAME: "true"`): "disconnected", "fips-compliant", "proxy-aware", "cnf", ... The older annotation
 * `operators.openshift.io/infrastructure-features`, a JSON list in a text, counts as well, except for a feature that a newer one denies.
 */
export function infrastructureFeatures(annotations: Readonly<Record<string, unknown>>): string[] {
  const features = new Set(olderFeatures(annotations[LIST]));
  for (const [annotation, value] of Object.entries(annotations)) {
    if (!annotation.startsWith(SINGLE)) continue;
    const name = featureName(annotation.slice(SINGLE.length));
    if (value === "true" || value === true) features.add(name);
    else features.delete(name);
  }
  return words([...features].filter((name) => FEATURE.test(name)).sort());
}

/** Whatever spelling: in small letters, with the name that the newer annotations use. */
export function featureName(text: string): string {
  const name = text.trim().toLowerCase().replace(/\s+/g, "-");
  return NEWER_NAME.get(name) ?? name;
}

function olderFeatures(value: unknown): string[] {
  if (typeof value !== "string") return [];
  return words(listIn(value)).map(featureName);
}

/** The entries of a JSON list; of something that is none, `[fips]` for one, what stands between brackets and commas. */
function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // not JSON
  }
  return text
    .replace(/^\s*\[|\]\s*$/g, "")
    .split(",", 64)
    .map((piece) => piece.replace(/["']/g, ""));
}
