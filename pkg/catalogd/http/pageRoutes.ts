import * as z from "zod";
import { listPageFiles, NOT_BUILT, renderIndexPage } from "../../serving/consoleAssets.ts";
import { SECURITY_HEADERS } from "../../serving/securityHeaders.ts";
import type { StaticAsset, StaticAssets } from "../../serving/staticAssets.ts";
import { chooseEncoding } from "./conditional.ts";
import { type ContentRequest, createDocument, respondWithDocument } from "./contentResponse.ts";
import type { ContentRouteDependencies } from "./contentRoutes.ts";
import { includesMediaType, ProblemError } from "./problem.ts";
import { type ContentResponse, NO_BODY } from "./response.ts";
import type { CatalogServer, Operation } from "./route.ts";

const HTML = "text/html; charset=utf-8";
const YEAR_SECONDS = 31_536_000;

/**
 * Returns the redirect from `/` to the web page for browsers; undefined for other requests.
 * Relative, so that it also works under a path prefix.
 */
export function redirectToPage(method: string, url: string, accept: string | undefined): ContentResponse | undefined {
  const isVisit = ["GET", "HEAD"].includes(method) && url === "/" && includesMediaType(accept, "text/html");
  return isVisit ? { status: 302, headers: { location: "ui" }, body: NO_BODY } : undefined;
}

/** Dependencies of the endpoints of the web page. */
export interface PageRouteDependencies extends Pick<ContentRouteDependencies, "cache"> {
  /** The built files of the web page; requests for it get 404 if they were not built. */
  readonly page?: StaticAssets | undefined;
}

const FilePath = z.object({ file: z.string().describe("name of the file") });
const RESPONSES: Operation["responses"] = {
  304: { description: "The response has not changed." },
  404: { description: "The file does not exist, or the web page was not built." },
};

/**
 * Registers the endpoints of the read-only web page, which uses the other endpoints. It is the catalog part of the web console. All its addresses are
 * relative, so that it also works under a path prefix, for example through kubectl proxy. Files are read for each request, because few users visit.
 */
export function registerPageRoutes(server: CatalogServer, dependencies: PageRouteDependencies): void {
  const { page, cache } = dependencies;
  server.route({
    method: ["GET", "HEAD"],
    url: "/ui",
    config: {
      failures: "problem",
      operation: {
        id: "getPage",
        summary: "Web page that shows the catalogs",
        responses: { 200: { description: "The page.", content: { "text/html": undefined } }, ...RESPONSES },
      },
    },
    handler: async (request, reply) => {
      const document = createDocument(Buffer.from(renderCatalogPage(requirePage(page))), HTML);
      reply.headers({ ...SECURITY_HEADERS, "cache-control": "no-cache" });
      await reply.respond(await respondWithDocument(document, request, cache));
    },
  });
  registerFiles(server, dependencies, { folder: "", id: "getPageFile", summary: "File of the web page" });
  registerFiles(server, dependencies, { folder: "assets/", id: "getPageAsset", summary: "Script, style sheet or font of the web page" });
}

/** Registers the endpoint of the files in a folder of the page. */
function registerFiles(
  server: CatalogServer,
  { page, cache }: PageRouteDependencies,
  { folder, id, summary }: { readonly folder: string; readonly id: string; readonly summary: string },
): void {
  server.route({
    method: ["GET", "HEAD"],
    url: `/ui/${folder}:file`,
    schema: { params: FilePath },
    config: {
      failures: "problem",
      operation: { id, summary, responses: { 200: { description: "The file.", content: { "*/*": undefined } }, ...RESPONSES } },
    },
    handler: async (request, reply) => {
      const { file } = request.params;
      const asset = file === "index.html" ? undefined : requirePage(page).find(folder + file);
      if (!asset) throw new ProblemError("PathNotFound", `the web page has no file ${JSON.stringify(folder + file)}`);
      reply.headers({ ...SECURITY_HEADERS, vary: "Accept-Encoding" });
      reply.header("cache-control", asset.isImmutable ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache");
      await reply.respond(await respondWithAsset(asset, request, cache));
    },
  });
}

/** The path of a page is in the fragment, which browsers do not send. */
function renderCatalogPage(assets: StaticAssets): string {
  const files = listPageFiles(assets, "catalog").find(({ path }) => path === "*")?.files;
  return renderIndexPage(assets, { base: "ui/", mode: "catalog", files });
}

function requirePage(page: StaticAssets | undefined): StaticAssets {
  if (!page) throw new ProblemError("PathNotFound", NOT_BUILT);
  return page;
}

/** Returns the response with a file, compressed by the build if the client accepts that. */
async function respondWithAsset(
  asset: StaticAsset,
  { method, headers }: ContentRequest,
  cache: ContentRouteDependencies["cache"],
): Promise<ContentResponse> {
  const { bytes, encoding } = await asset.read(chooseEncoding(headers["accept-encoding"], ["gzip"]) === "gzip");
  const request = { method, headers: { ...headers, "accept-encoding": undefined } };
  const response = await respondWithDocument(createDocument(bytes, asset.type), request, cache);
  return encoding === undefined ? response : { ...response, headers: { ...response.headers, "content-encoding": encoding } };
}
