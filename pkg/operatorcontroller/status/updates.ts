import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { availableUpdates } from "../../resolve/availableUpdates.ts";
import { narrowed } from "../../resolve/filters.ts";
import type { Considered } from "../../resolve/resolution.ts";
import { consider } from "../../resolve/resolve.ts";
import { installedFrom, type PassFacts } from "../facts.ts";

type UpdateStatus = Pick<ClusterExtensionStatus, "availableUpdates" | "blockedUpdate">;

/**
 * What the extension can be upgraded to next from what is installed at the end of the pass, from what the catalogs said in it.
 * A pass that did not come to the catalogs leaves what is known of the same bundle as it is.
 */
export function updateStatus(extension: Readonly<ClusterExtension>, facts: PassFacts): UpdateStatus {
  const { installed, catalogs, clusterVersion } = facts;
  const source = extension.spec?.source?.catalog;
  if (!installed || !source) return {};
  if (!catalogs) return knownOf(extension, installed);
  const isAsResolved = facts.considered?.installed === installed;
  const considered = isAsResolved
    ? facts.considered
    : consider({ source, catalogs, installed, installedFrom: installedFrom(facts), cluster: clusterVersion });
  if (!considered || "kind" in considered) return {};
  const found = availableUpdates(isAsResolved ? considered : withLaterFilters(considered, facts.considered));
  if (!found) return {};
  const { updates, blocked } = found;
  return { availableUpdates: updates.map((update) => ({ ...update })), ...(blocked ? { blockedUpdate: { ...blocked } } : {}) };
}

/** After an upgrade: what later filters had against bundles holds for them still, as far as this pass knows. */
function withLaterFilters(considered: Considered, before: Considered | undefined): Considered {
  const findings = considered.findings.map((found) => {
    const filters = before?.findings.find(({ catalog }) => catalog === found.catalog)?.later ?? [];
    return filters.reduce((left, filter) => {
      const rules = new Map([...filter.removed].map(([{ bundle }, rule]) => [bundle, rule]));
      const removed = left.allowed.flatMap((one) => {
        const rule = rules.get(one.bundle);
        return rule === undefined ? [] : [[one, rule] as const];
      });
      return removed.length === 0 ? left : narrowed(left, { ...filter, removed: new Map(removed) });
    }, found);
  });
  return { ...considered, findings };
}

function knownOf({ status }: Readonly<ClusterExtension>, { name, version }: { name: string; version: string }): UpdateStatus {
  const { availableUpdates: updates, blockedUpdate } = status ?? {};
  const bundle = status?.install?.bundle;
  if (!updates || bundle?.name !== name || bundle.version !== version) return {};
  return { availableUpdates: updates, ...(blockedUpdate ? { blockedUpdate } : {}) };
}
