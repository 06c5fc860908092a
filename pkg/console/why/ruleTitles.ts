import type { VersionRule } from "../../consoleapi/why.ts";
import type { Exclusion } from "../../resolve/exclusions.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";

const TITLES: Readonly<Record<string, string>> = {
  channels: "Channel",
  versionRange: "Version range",
  upgradeEdges: "Upgrade path",
  clusterVersion: "Cluster version",
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

/** Turns a clause into a sentence with a bounded length. Does not change the case of a field or name at its start. */
export function toSentence(clause: string, max: number = CAUSE_LENGTH): string {
  const text = truncate(clause, max).trim();
  if (text === "") return "";
  const start = /^[a-z]+(?:[ ,:;]|$)/.test(text) ? text.charAt(0).toUpperCase() : text.charAt(0);
  return `${start}${text.slice(1)}${/[.!?\u2026]$/.test(text) ? "" : "."}`;
}
