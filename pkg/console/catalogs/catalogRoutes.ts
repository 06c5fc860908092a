import * as z from "zod/mini";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogContentOrigin, CatalogFindings, CatalogView, EditionDifference } from "../../consoleapi/catalogs.ts";
import { orErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { readObjectEvents } from "../../rollout/extensionEvents.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { listCurrentCatalogs } from "../cluster/currentObjects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { createRequestSignal } from "../http/requestSignal.ts";
import { CATALOG_TIMEOUT_MS, listInstalledBundles } from "../packages/openPackages.ts";
import { CatalogEditions } from "./catalogEditions.ts";
import { buildCatalogView } from "./catalogView.ts";
import { readContentOrigin } from "./contentOrigin.ts";
import { readServedFindings } from "./servedFindings.ts";

const TIMEOUT_MS = 20_000;
const Params = z.object({ name: ObjectName });

/** Registers the pages of single catalogs. */
export function registerClusterCatalogRoutes(server: ConsoleRoutes, { callers, catalogs: kept, served }: ConsoleContext): void {
  const editions = new CatalogEditions();

  server.route({
    method: "GET",
    url: "/api/catalogs/:name",
    schema: { params: Params },
    handler: async (request, reply): Promise<CatalogView> => {
      const identity = callers.identify(request.headers);
      const signal = createRequestSignal(reply, TIMEOUT_MS);
      const catalog = await readCurrentCatalog(identity, request.params.name, signal, editions);
      const [installed, events] = await Promise.all([
        listInstalledBundles(identity, signal),
        orErrorMessage(readObjectEvents(identity.client, catalog)),
      ]);
      return buildCatalogView(catalog, { installed, events });
    },
  });

  server.route({
    method: "GET",
    url: "/api/catalogs/:name/findings",
    schema: { params: Params },
    handler: async (request, reply): Promise<CatalogFindings> => {
      const identity = callers.identify(request.headers);
      const signal = createRequestSignal(reply, TIMEOUT_MS);
      const catalog = await readCurrentCatalog(identity, request.params.name, signal, editions);
      return readServedFindings(served, catalog, signal);
    },
  });

  server.route({
    method: "GET",
    url: "/api/catalogs/:name/origin",
    schema: { params: Params },
    handler: async (request, reply): Promise<CatalogContentOrigin> => {
      const identity = callers.identify(request.headers);
      const signal = createRequestSignal(reply, CATALOG_TIMEOUT_MS);
      const catalog = await readCurrentCatalog(identity, request.params.name, signal, editions);
      return kept.use(signal, (lease) => readContentOrigin(catalog, lease, signal));
    },
  });

  server.route({
    method: "GET",
    url: "/api/catalogs/:name/difference",
    schema: { params: Params },
    handler: async (request, reply): Promise<EditionDifference> => {
      const identity = callers.identify(request.headers);
      const signal = createRequestSignal(reply, CATALOG_TIMEOUT_MS);
      const catalog = await readCurrentCatalog(identity, request.params.name, signal, editions);
      return kept.use(signal, (lease) => editions.compare(catalog, lease, signal));
    },
  });
}

/** Returns a catalog, and notes the images of all catalogs. @throws ConsoleError notFound */
async function readCurrentCatalog(
  identity: ClusterIdentity,
  name: string,
  signal: AbortSignal,
  editions: CatalogEditions,
): Promise<ClusterCatalog> {
  editions.follow(identity.watches.catalogs);
  const all = await listCurrentCatalogs(identity, signal);
  editions.note(all);
  const found = all.find(({ metadata }) => metadata.name === name);
  if (found) return found;
  throw new ConsoleError("notFound", `ClusterCatalog ${goQuote(name)} does not exist`);
}
