import type { CatalogSource } from "../api/clusterExtension.ts";
import { goQuote } from "../golang/quote.ts";
import type { Obstacle, Remedy } from "./remedy.ts";
import type { InstalledBundle } from "./successors.ts";
import { enumerated, listed } from "./wording.ts";

const UNINSTALL = "uninstall the extension to upgrade the cluster";

/**
 * A remedy as a clause of a message, such as `version 1.1.0 of catalog "x" lifts the block`. In spec's words, at most some hundred characters
 * beside what spec holds.
 */
export function remedyText(remedy: Remedy, source: CatalogSource, installed: InstalledBundle | undefined): string {
  if (remedy.kind === "none") return noneText(remedy, installed);
  const { version, catalog, deprecated, through, obstacles } = remedy;
  const subject = `version ${version}${deprecated ? " (deprecated)" : ""} of catalog ${goQuote(catalog)}`;
  if (through.length + obstacles.length === 0) return `${subject} lifts the block`;
  const after = through.length > 0 ? `, after upgrades through ${enumerated(through)}` : "";
  const but = obstacles.map((obstacle) => obstacleText(obstacle, source, installed)).join(", and ");
  return `${subject} would lift the block${after}${but === "" ? "" : `, but ${but}`}`;
}

function obstacleText({ kind, excludes }: Obstacle, source: CatalogSource, installed: InstalledBundle | undefined): string {
  if (kind === "range") {
    return `spec.source.catalog.version ${goQuote(source.version ?? "")} excludes ${excludes === "target" ? "it" : "a version on the way"}`;
  }
  if (kind === "channels") {
    const field = `spec.source.catalog.channels ${listed(source.channels ?? [])}`;
    return excludes === "target" ? `it is not in ${field}` : `the edges to it are not in ${field}`;
  }
  return `no edges lead to it from ${goQuote(installed?.name ?? "")}: only upgradeConstraintPolicy SelfCertified goes there`;
}

function noneText({ asked, silent }: Remedy & { kind: "none" }, installed: InstalledBundle | undefined): string {
  if (asked.length + silent.length === 0) return `spec.source.catalog.selector selects no catalog to find another version in; ${UNINSTALL}`;
  if (asked.length === 0) return `${catalogs(silent)} cannot be asked for a version that lifts the block`;
  const unsure = silent.length > 0 ? ` (${catalogs(silent)} cannot be asked)` : "";
  return `no ${installed ? "newer version" : "version"} in ${catalogs(asked)} lifts the block${unsure}; ${UNINSTALL}`;
}

function catalogs(names: readonly string[]): string {
  return `${names.length === 1 ? "catalog" : "catalogs"} ${enumerated(names.map(goQuote))}`;
}
