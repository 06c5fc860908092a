import type { ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { InstalledSupport } from "../../api/clusterExtensionStatus.ts";
import { formatDay, getEndOfDay } from "../../fbc/lifecycleDocument.ts";
import type { PackageContent } from "../../fbc/types.ts";
import { findNextSupportChange, findVersionSupport, type VersionSupport } from "../../fbc/versionSupport.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import type { CatalogPackage } from "../../resolve/resolution.ts";
import { parseInstalledVersion } from "../../resolve/successors.ts";
import type { VersionRelease } from "../../version/version.ts";
import { findInstalledCatalog } from "../state/extensionSpec.ts";
import { getReleases, type Phase } from "../state/phases.ts";

/** Delay after the start or end of a phase, because timers and the clock differ. */
const AFTER_CHANGE_MS = 1_000;

/**
 * Returns the support of the installed bundle, according to its catalog. Keeps the known support if the catalog cannot be read, but reports no phase
 * that has ended since.
 *
 * | the catalog of the installed bundle       | status.support               |
 * | has support phases of the package         | of the version, or Unknown   |
 * | has none                                  | absent                       |
 * | cannot be read                            | the known one, while valid   |
 *
 * @param today UTC day, YYYY-MM-DD.
 */
export function supportStatus(phase: Phase, today: string): Pick<ClusterExtensionStatus, "support"> {
  const { installed } = getReleases(phase);
  if (!installed) return {};
  const catalog = findSupportCatalog(phase, installed);
  if (catalog === undefined || (catalog.unavailable !== undefined && !catalog.lastKnown)) return readKnownSupport(phase, installed, today);
  const { lifecycle } = getContent(catalog) ?? {};
  if (!lifecycle) return {};
  const version = parseVersion(installed)?.version;
  return { support: toInstalledSupport(findVersionSupport(lifecycle, version, { today, cluster: phase.clusterVersion })) };
}

/** Returns the catalog of the installed bundle; if it is unknown, the first catalog with the bundle. */
function findSupportCatalog(phase: Phase, { name }: InstalledBundle): CatalogPackage | undefined {
  const { packages = [] } = phase.report.catalogs;
  const from = findInstalledCatalog(phase);
  if (from !== undefined) return packages.find((one) => one.name === from);
  return packages.find((one) => getContent(one)?.bundles.some((bundle) => bundle.name === name));
}

function getContent({ content, lastKnown }: CatalogPackage): PackageContent | undefined {
  return content ?? lastKnown?.content;
}

function parseVersion(installed: InstalledBundle): VersionRelease | undefined {
  try {
    return parseInstalledVersion(installed);
  } catch {
    return undefined;
  }
}

function readKnownSupport(
  { extension: { status } }: Phase,
  { name, version }: InstalledBundle,
  today: string,
): Pick<ClusterExtensionStatus, "support"> {
  const known = status?.support;
  const bundle = status?.install?.bundle;
  if (!known || bundle?.name !== name || bundle.version !== version) return {};
  const { endDate, phaseEndDate, startDate } = known;
  const { platform, platformVersions } = known;
  const rest = { platform, ...(platformVersions ? { platformVersions } : {}) };
  if (endDate !== undefined && endDate < today) return { support: { state: "Ended", endDate, ...rest } };
  const isOutdated = (phaseEndDate !== undefined && phaseEndDate < today) || (startDate !== undefined && startDate <= today);
  return { support: isOutdated ? { state: "Unknown", ...rest } : known };
}

function toInstalledSupport({
  state,
  phase,
  phaseEndDate,
  startDate,
  endDate,
  platform,
  platformVersions,
}: VersionSupport): InstalledSupport {
  return {
    state,
    ...(phase === undefined ? {} : { phase }),
    ...(phaseEndDate === undefined ? {} : { phaseEndDate }),
    ...(startDate === undefined ? {} : { startDate }),
    ...(endDate === undefined ? {} : { endDate }),
    platform,
    ...(platformVersions === undefined ? {} : { platformVersions: [...platformVersions] }),
  };
}

/**
 * Returns the delay in milliseconds until a support phase of the package starts or ends, because this changes the status, and under supportPolicy
 * Enforce the resolution. Undefined if no phase will.
 * @param now milliseconds since the epoch.
 */
export function getSupportDelay({ report, extension }: Phase, now: number): number | undefined {
  const { packages = [] } = report.catalogs;
  const changes = packages.flatMap((one) => {
    const { lifecycle } = getContent(one) ?? {};
    return (lifecycle && findNextSupportChange(lifecycle, now)) ?? [];
  });
  const { phaseEndDate } = extension.status?.support ?? {};
  if (phaseEndDate !== undefined && phaseEndDate >= formatDay(now)) changes.push(getEndOfDay(phaseEndDate));
  return changes.length === 0 ? undefined : Math.min(...changes) - now + AFTER_CHANGE_MS;
}
