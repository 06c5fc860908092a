import type { VersionRow } from "../../browse/packageView.ts";
import type { LimitAttempt } from "../../consoleapi/why.ts";
import type { Exclusion } from "../../resolve/exclusions.ts";

/** Rules that limits of the extension can lift. */
const LIFTED: ReadonlySet<string> = new Set(["channels", "versionRange", "upgradeEdges", "preference", "deprecation"]);

/**
 * Returns limits that would select a version: its version as range, one of its channels, and an upgrade without an edge; only those that rules need.
 * Undefined if no rule excludes it, or if limits cannot lift one of them.
 * @param requested the channels in the spec
 */
export function findAttempt(
  { version, channels, headOf }: Pick<VersionRow, "version" | "channels" | "headOf">,
  exclusions: readonly Pick<Exclusion, "rule">[],
  requested: readonly string[],
): LimitAttempt | undefined {
  const rules = new Set(exclusions.map(({ rule }) => rule));
  if (version === undefined || rules.size === 0 || [...rules].some((rule) => !LIFTED.has(rule))) return undefined;
  const channel = headOf[0] ?? channels[0];
  if (rules.has("channels") && channel === undefined) return undefined;
  return {
    range: version,
    ...(rules.has("channels") && channel !== undefined ? { channels: [...requested, channel] } : {}),
    ...(rules.has("upgradeEdges") ? { policy: "SelfCertified" as const } : {}),
  };
}
