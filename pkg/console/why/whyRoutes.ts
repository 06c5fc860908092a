import * as z from "zod/mini";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findPackage } from "../../browse/findPackage.ts";
import type { PackageInCatalog } from "../../browse/packageView.ts";
import type { Why, WhyNotVersion } from "../../consoleapi/why.ts";
import { getServedContent } from "../../operatorcontroller/catalogs/catalogPackages.ts";
import type { DependencySearch } from "../../preview/previewChoice.ts";
import { answerResolution, answerWhyNot } from "../../preview/resolutionAnswers.ts";
import { readResolutionSubject } from "../../preview/resolutionSubject.ts";
import type { ResolutionSubject } from "../../preview/resolveWithDependencies.ts";
import type { CatalogLease } from "../../sources/keptCatalogs.ts";
import { toSentence } from "../../text/sentence.ts";
import { type ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { listCurrentCatalogs, readCurrentExtension } from "../cluster/currentObjects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { listRefusals } from "./refusals.ts";
import { toVersionRule } from "./ruleTitles.ts";
import { LimitsQuery, tryLimits } from "./sourceLimits.ts";
import { buildWhy } from "./whyView.ts";

/** Maximum time of a request, in milliseconds: the first one may pull the catalogs. */
const TIMEOUT_MS = 120_000;
const MAX_UNCHECKED = 50;

const Params = z.object({ name: ObjectName });

/** Registers the explanation of the version of an extension, and what other limits would change. Writes nothing. */
export function registerWhyRoutes(server: ConsoleRoutes, { catalogs, search }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/extensions/:name/why",
    schema: { params: Params, querystring: LimitsQuery },
    config: { timeoutMs: TIMEOUT_MS },
    handler: async ({ identity, deadline: signal, params: { name }, query }): Promise<Why> => {
      const extension = await readCurrentExtension(identity, name);
      const tried = tryLimits(extension, query);
      return catalogs.use(signal, async (lease) => {
        const answer = await answerResolution(await readSubject(identity, tried, { reader: lease, search, signal }));
        const selected = answer.resolution.filtered?.catalogs.map(({ name }) => name);
        const { found, unread } = await openPackage(identity, tried, { lease, signal, selected });
        return buildWhy({ extension, tried, answer, found, unread });
      });
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/why-not",
    schema: {
      params: Params,
      querystring: z.extend(LimitsQuery, { bundle: z.string().check(z.maxLength(253)), catalog: z.string().check(z.maxLength(253)) }),
    },
    config: { timeoutMs: TIMEOUT_MS },
    handler: async ({ identity, deadline: signal, params: { name }, query }): Promise<WhyNotVersion> => {
      const { bundle, catalog, ...other } = query;
      const tried = tryLimits(await readCurrentExtension(identity, name), other);
      return catalogs.use(signal, async (lease) => {
        const answer = await answerWhyNot(await readSubject(identity, tried, { reader: lease, search, signal }), bundle);
        const meant = answer.bundles.find((one) => one.catalog === catalog && one.bundle === bundle);
        return {
          verdict: answer.gets?.bundle === bundle && answer.gets.catalog === catalog ? "chosen" : meant ? "notChosen" : "absent",
          rules: (meant?.exclusions ?? []).map(toVersionRule),
          refusals: listRefusals(answer.refusals?.filter((one) => one.bundle === bundle)),
          unchecked: (answer.unjudged ?? []).slice(0, MAX_UNCHECKED).map((text) => toSentence(text)),
        };
      });
    },
  });
}

function readSubject(
  { client }: ClusterIdentity,
  extension: ClusterExtension,
  sources: { readonly reader: CatalogLease; readonly search: DependencySearch; readonly signal: AbortSignal },
): Promise<ResolutionSubject> {
  return readResolutionSubject({ extension: extension.metadata.name }, extension, {}, { client, ...sources });
}

/** Where to look for the package. */
interface PackagePlaces {
  readonly lease: CatalogLease;
  readonly signal: AbortSignal;
  /** Names of the catalogs that the extension selects; undefined if its selector or range is invalid. */
  readonly selected: readonly string[] | undefined;
}

/** Returns the package in the selected catalogs, and which of those that the cluster serves cannot be read. */
async function openPackage(
  identity: ClusterIdentity,
  { spec }: ClusterExtension,
  { lease, signal, selected }: PackagePlaces,
): Promise<{ found: readonly PackageInCatalog[]; unread: string[] }> {
  const packageName = spec.source.catalog?.packageName ?? "";
  const isSelected = (name: string): boolean => selected?.includes(name) ?? true;
  // A lease closes catalogs that are not among the opened ones, so open all.
  const listed = await listCurrentCatalogs(identity, signal);
  const open = await lease.open(listed);
  const served = new Set(listed.filter((one) => typeof getServedContent(one) !== "string").map(({ metadata }) => metadata.name));
  const unread = open.leftOut
    .filter(({ catalog }) => isSelected(catalog) && served.has(catalog))
    .map(({ catalog, because }) => describeUnread(catalog, because));
  const catalogs = open.catalogs.filter(({ name }) => isSelected(name));
  const isOffered = catalogs.some(({ book }) => book.names().includes(packageName));
  return { found: isOffered ? await findPackage(packageName, { catalogs }) : [], unread };
}

function describeUnread(catalog: string, because: string): string {
  return toSentence(`the console cannot read catalog ${catalog}, so the controller may decide differently: ${because}`);
}
