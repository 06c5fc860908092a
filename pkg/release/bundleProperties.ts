import { goJson } from "../golang/json.ts";
import type { Property } from "../fbc/types.ts";

/** What a bundle is, provides and needs: kept before anything else. */
const DECISIVE: ReadonlySet<string> = new Set([
  "olm.package",
  "olm.gvk",
  "olm.package.required",
  "olm.gvk.required",
  "olm.constraint",
  "olm.maxOpenShiftVersion",
]);
/** Catalogs carry manifests in these. */
const BULKY: ReadonlySet<string> = new Set(["olm.bundle.object", "olm.csv.metadata"]);
/** Longest property of any other type, in characters of its JSON. */
const MAX_OTHER = 1_024;
/** Characters of all of them together. */
const MAX_PROPERTIES = 32_768;

/**
 * The properties of a bundle as they are kept with its release: a JSON list of type and value in the bundle's order, without those that
 * carry manifests and without long ones that decide about nothing; at most 32,768 characters, what decides coming first where that is too little.
 */
export function keptProperties(properties: readonly Property[]): string {
  const all = properties
    .filter(({ type }) => !BULKY.has(type))
    .map(({ type, value }) => ({ decides: DECISIVE.has(type), json: goJson({ type, value }, { sortKeys: false }) }));
  let left = MAX_PROPERTIES;
  const fitting = (one: { json: string }): boolean => {
    if (one.json.length + 1 >= left) return false;
    left -= one.json.length + 1;
    return true;
  };
  const decisive = new Set(all.filter(({ decides }) => decides).filter(fitting));
  const others = new Set(all.filter(({ decides, json }) => !decides && json.length <= MAX_OTHER).filter(fitting));
  return `[${all.flatMap((one) => (decisive.has(one) || others.has(one) ? [one.json] : [])).join(",")}]`;
}
