import type { ClusterCapabilities } from "../../browse/clusterCapabilities.ts";
import { searchPackages } from "../../browse/packageSearch.ts";
import type { PackageMatch } from "../../browse/searchResults.ts";
import { type SignatureDemand, selectSigned } from "../../browse/signatureDemand.ts";
import { parseSearchQuery } from "../../catalogd/search/searchQuery.ts";
import type { PackageCard, PackageFilters, PackagePage } from "../../consoleapi/packages.ts";
import { formatSupportPhase, isSupported } from "../../fbc/versionSupport.ts";
import type { Client } from "../../kube/client.ts";
import type { InstalledExtension } from "../../rollout/extensions.ts";
import type { OpenCatalogs } from "../../sources/openCatalogs.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import { toSupportQuery } from "./openPackages.ts";

/** Maximum number of packages on one page. */
const PAGE = 200;
const MAX_WORDS = 16;
const MAX_INSTALLED = 20;

/** Where and for whom to search. */
export interface SearchedCluster {
  readonly open: OpenCatalogs;
  readonly client: Client;
  /** Undefined if unknown. */
  readonly installed: readonly InstalledExtension[] | undefined;
  readonly capabilities: ClusterCapabilities | undefined;
  /** Or why it is unknown; absent without the filter that needs it. */
  readonly signatures?: SignatureDemand | string | undefined;
  readonly signal: AbortSignal;
}

/** Searches packages. @param offset number of packages before the page */
export async function buildPackagePage(
  { open, client, installed, capabilities, signatures, signal }: SearchedCluster,
  filters: PackageFilters,
  offset: number,
): Promise<PackagePage> {
  const { text = "", catalog, arch, capability, deprecated } = filters;
  const catalogs = catalog === undefined ? open.catalogs : open.catalogs.filter(({ name }) => name === catalog);
  const query = parseSearchQuery({
    ...(arch === undefined ? {} : { arch: [arch] }),
    capability,
    deprecated: deprecated === undefined ? undefined : deprecated === "true",
  });
  const found = await searchPackages(
    {
      catalogs,
      client: capabilities && client,
      signal,
      installed: installed ?? [],
      // Whether the user may install anything is the same for all packages.
      ...(capabilities ? { capabilities: { ...capabilities, mayCreate: true } } : {}),
    },
    {
      words: text
        .split(/\s+/)
        .filter((word) => word !== "")
        .slice(0, MAX_WORDS),
      query,
      when: toSupportQuery(capabilities),
      supportedOnly: filters.supported === "true",
      installedOnly: filters.installed === "true",
      installableOnly: filters.installable === "true",
      addsObstacles: capabilities !== undefined,
    },
  );
  const isUnknown = typeof signatures === "string";
  const matches = signatures === undefined ? found.matches : isUnknown ? [] : await selectSigned(found.matches, open.catalogs, signatures);
  const items = matches.slice(offset, offset + PAGE).map((match) => toCard(match, installed));
  const end = offset + items.length;
  return {
    items,
    total: matches.length,
    ...(end < matches.length ? { next: String(end) } : {}),
    leftOut: open.leftOut
      .filter((one) => catalog === undefined || one.catalog === catalog)
      .map((one) => ({ catalog: one.catalog, reason: truncate(one.because, CAUSE_LENGTH) })),
    ...(isUnknown ? { signaturesUnknown: truncate(signatures, CAUSE_LENGTH) } : {}),
    catalogs: open.catalogs.map(({ name }) => name),
  };
}

function toCard(match: PackageMatch, installed: readonly InstalledExtension[] | undefined): PackageCard {
  const { package: name, catalog, displayName, description, provider, version, capability, deprecated, hindrances, support } = match;
  const installedBy = installed?.filter((one) => one.package === name && (one.catalog ?? catalog) === catalog).map((one) => one.extension);
  return {
    package: name,
    catalog,
    displayName,
    description,
    provider,
    version,
    capability,
    isDeprecated: deprecated !== undefined,
    ...(support ? { support: { text: formatSupportPhase(support), isSupported: isSupported(support) } } : {}),
    ...(installedBy ? { installedBy: installedBy.slice(0, MAX_INSTALLED) } : {}),
    ...(hindrances ? { obstacles: [...hindrances] } : {}),
  };
}
