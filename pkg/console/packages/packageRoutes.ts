import * as z from "zod/mini";
import { readGraphSource } from "../../browse/packageGraph.ts";
import { readSignatureDemand } from "../../browse/signatureDemand.ts";
import type { PackageIcon, PackagePicture } from "../../consoleapi/packages.ts";
import { type PackageDetails, PackageFilters, type PackagePage } from "../../consoleapi/packages.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { renderSvg } from "../../fbc/graph/svg.ts";
import { buildUpdateGraph } from "../../fbc/graph/updateGraph.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { CATALOG_TIMEOUT_MS, listInstalledBundles, openPackage, SharedCapabilities, withOpenCatalogs } from "./openPackages.ts";
import { buildClusterPackage } from "./packageDetailsView.ts";
import { PackageIcons } from "./packageIcons.ts";
import { buildPackagePage } from "./packageSearchView.ts";

/** Time that browsers keep an icon, in seconds. */
const ICON_SECONDS = 300;
/** Maximum length of a drawing, in characters. */
const MAX_PICTURE = 4 * 1024 * 1024;

/** Names in catalogs are untrusted, so any text. */
const Params = z.object({ package: z.string().check(z.minLength(1), z.maxLength(512)) });
const Catalog = z.object({ catalog: z.optional(z.string().check(z.maxLength(253))) });

/** Registers search in the catalogs of the cluster, and the descriptions of packages. */
export function registerPackageRoutes(server: ConsoleRoutes, { catalogs, session }: ConsoleContext): void {
  const shared = new SharedCapabilities();
  const icons = new PackageIcons();

  server.route({
    method: "GET",
    url: "/api/packages",
    schema: { querystring: z.extend(PackageFilters, { after: z.optional(z.string().check(z.regex(/^\d{1,7}$/))) }) },
    config: { timeoutMs: CATALOG_TIMEOUT_MS },
    handler: async ({ identity, deadline, query: { after = "0", ...filters } }): Promise<PackagePage> => {
      const { client } = identity;
      const [installed, capabilities, signatures] = await Promise.all([
        listInstalledBundles(identity, deadline),
        shared.read(identity),
        filters.signed === "true" ? readSignatureDemand(client, session.systemNamespace, deadline) : undefined,
      ]);
      return withOpenCatalogs(catalogs, identity, deadline, (open) =>
        buildPackagePage({ open, client, installed, capabilities, signatures, signal: deadline }, filters, Number(after)),
      );
    },
  });

  server.route({
    method: "GET",
    url: "/api/packages/:package",
    schema: { params: Params, querystring: z.extend(Catalog, { version: z.optional(z.string().check(z.maxLength(512))) }) },
    config: { timeoutMs: CATALOG_TIMEOUT_MS },
    handler: async ({ identity, deadline, params, query: { catalog, version } }): Promise<PackageDetails> => {
      const [installed, capabilities, served] = await Promise.all([
        listInstalledBundles(identity, deadline),
        shared.read(identity),
        identity.fields.read(),
      ]);
      const needsAccount = served?.required.has("spec.serviceAccount") === true;
      return withOpenCatalogs(catalogs, identity, deadline, async (open) =>
        buildClusterPackage(await openPackage(params.package, open, catalog), version, { installed, capabilities, needsAccount }),
      );
    },
  });

  server.route({
    method: "GET",
    url: "/api/packages/:package/icon",
    schema: { params: Params, querystring: Catalog },
    config: { timeoutMs: CATALOG_TIMEOUT_MS },
    handler: async ({ identity, deadline, params, query }, reply): Promise<PackageIcon> => {
      const icon = await withOpenCatalogs(catalogs, identity, deadline, async (open) => {
        const found = open.catalogs.find(({ name }) => name === query.catalog);
        return found && icons.read(found.book, params.package);
      });
      reply.header("cache-control", `private, max-age=${ICON_SECONDS}`);
      return icon === undefined ? {} : { icon };
    },
  });

  server.route({
    method: "GET",
    url: "/api/packages/:package/graph",
    schema: { params: Params, querystring: Catalog },
    config: { timeoutMs: CATALOG_TIMEOUT_MS },
    handler: async ({ identity, deadline, params, query }): Promise<PackagePicture> => {
      return withOpenCatalogs(catalogs, identity, deadline, async (open) => {
        const [found] = await openPackage(params.package, open, query.catalog);
        return { picture: drawGraph(found) };
      });
    },
  });
}

/** Returns the upgrade graph of a package as the data URL of an image. @throws ConsoleError limited if it is too large */
function drawGraph(found: Parameters<typeof readGraphSource>[0]): string {
  let svg: string;
  try {
    svg = renderSvg(buildUpdateGraph(readGraphSource(found, { channel: [], installed: new Map() })));
  } catch (err) {
    throw new ConsoleError("limited", getErrorMessage(err), { cause: err });
  }
  if (svg.length > MAX_PICTURE) throw new ConsoleError("limited", "the upgrade graph is too large to draw");
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
}
