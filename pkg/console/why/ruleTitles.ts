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
  return { rule, title: getRuleTitle(rule), text: toSentence(text), remedy: toSentence(remedy) };
}

/** Turns a clause into a sentence with a bounded length. */
export function toSentence(clause: string): string {
  const text = truncate(clause, CAUSE_LENGTH).trim();
  if (text === "") return "";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?\u2026]$/.test(text) ? "" : "."}`;
}
