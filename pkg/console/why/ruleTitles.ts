import type { VersionRule } from "../../consoleapi/why.ts";
import type { Exclusion } from "../../resolve/exclusions.ts";
import { toSentence } from "../../text/sentence.ts";

const TITLES: Readonly<Record<string, string>> = {
  channels: "Channel",
  versionRange: "Version range",
  upgradeEdges: "Upgrade path",
  clusterVersion: "Cluster version",
  support: "Support",
  dependencies: "Dependencies",
  deprecation: "Deprecated",
  catalogPriority: "Catalog priority",
  catalogTie: "Equal catalogs",
  silentCatalog: "Catalog unavailable",
  preference: "Preference",
};

/** Rules that prefer another version and do not exclude this one. */
const PREFERENCES: ReadonlySet<string> = new Set(["deprecation", "catalogPriority", "preference"]);

/** Returns the title of a filter or rule, such as `Upgrade path` for `upgradeEdges`. */
export function getRuleTitle(rule: string): string {
  return TITLES[rule] ?? rule;
}

/** Reports whether a rule only prefers another version. */
export function isPreference(rule: string): boolean {
  return PREFERENCES.has(rule);
}

/** Describes a rule that excludes a version to the page. */
export function toVersionRule({ rule, text, remedy }: Exclusion): VersionRule {
  return { rule, title: getRuleTitle(rule), text: toSentence(text), remedy: toSentence(remedy), isPreference: isPreference(rule) };
}
