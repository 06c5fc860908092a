import type { ValuesSource } from "../../api/extensionConfig.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { CONFIG_LIMITS } from "../configLimits.ts";
import { mergeValues } from "./mergeValues.ts";
import { scalarTexts } from "./scalarTexts.ts";
import { type TextRoom, valuesOf } from "./sourceValues.ts";

/** A source of configuration and the object that it names, as it was read; undefined where there is none. */
export interface ReadSource {
  readonly source: ValuesSource;
  readonly object: KubeObject | undefined;
}

/** `spec.config` with its sources. */
export interface MergedConfig {
  /** Absent where a source is at fault. */
  readonly config?: JsonObject;
  /** What is wrong, a sentence each, with nothing of what the sources hold; those that are only waited for are `missing`. */
  readonly missing: readonly string[];
  readonly invalid: readonly string[];
  /** All strings and numbers that the sources hold. */
  readonly texts: ReadonlySet<string>;
}

/** So many different strings and numbers may stand in all sources together: each of them is looked for in everything that is shown. */
const MAX_TEXTS = 2_000;

/**
 * The sources merged in their order, each over those before it, and `inline` over all of them. Their texts are
 * bounded together, before any is parsed, and the values of each.
 * @param inline within `CONFIG_LIMITS`. What it comes to with the sources may be larger.
 */
export function mergedConfig(sources: readonly ReadSource[], namespace: string, inline: JsonObject | undefined): MergedConfig {
  const room: TextRoom = { bytes: CONFIG_LIMITS.bytes, separators: CONFIG_LIMITS.separators };
  const read = sources.map(({ source, object }) => valuesOf(source, namespace, object, room));
  const said = (wanted: "missing" | "invalid"): string[] =>
    read.flatMap((values, i) => (values.kind === wanted ? [`spec.config.valuesFrom[${i}]: ${values.text}`] : []));
  const values = read.flatMap((one) => (one.kind === "values" ? [one.values] : []));
  const texts = scalarTexts(values, MAX_TEXTS + 1);
  const [missing, invalid] = [said("missing"), said("invalid")];
  if (texts.size > MAX_TEXTS) invalid.push(`spec.config.valuesFrom: the sources hold more than ${MAX_TEXTS} different values`);
  if (missing.length + invalid.length > 0) return { missing, invalid, texts };
  return { config: [...values, inline ?? {}].reduce(mergeValues, {}), missing, invalid, texts };
}
