import type { FastifyInstance } from "fastify";
import { listPageFiles, renderIndexPage } from "../../serving/consoleAssets.ts";
import type { StaticAssets } from "../../serving/staticAssets.ts";
import { isApiPath } from "./requestGuards.ts";

const YEAR_SECONDS = 31_536_000;
/** Paths of files: in the folder of the build, or with an extension in the root. Other paths may contain names with dots. */
const FILE = /^\/(assets\/|[^/]*\.\w+$)/;
const INDEX_TYPE = "text/html; charset=utf-8";

/** Serves the built files of the pages. Each other path outside /api gets index.html, whose script shows the page of the path. */
export function registerPages(app: FastifyInstance, assets: StaticAssets): void {
  const findPage = renderPages(assets);
  for (const path of assets.paths()) {
    if (path === "index.html") continue;
    app.get(`/${path}`, async (request, reply) => {
      const asset = assets.find(path);
      if (!asset) return reply.callNotFound();
      const isGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
      const { bytes, encoding } = await asset.read(isGzip);
      reply.header("content-type", asset.type).header("vary", "accept-encoding");
      reply.header("cache-control", asset.isImmutable ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache");
      if (encoding !== undefined) reply.header("content-encoding", encoding);
      return reply.send(bytes);
    });
  }
  app.setNotFoundHandler(async (request, reply) => {
    if (!isPage(request)) return reply.code(404).header("cache-control", "no-store").send({ kind: "notFound", message: "no such path" });
    return reply.header("content-type", INDEX_TYPE).header("cache-control", "no-store").send(findPage(request.url));
  });
}

/** Returns a function that returns the page of an address. Each refers to its files, so that the browser loads them with the first request. */
function renderPages(assets: StaticAssets): (url: string) => string {
  const render = (files?: readonly string[]): string => renderIndexPage(assets, { base: "/", mode: "console", files }); // paths have several levels
  const pages = listPageFiles(assets, "console").map(({ path, files }) => ({ pattern: toPattern(path), text: render(files) }));
  const other = render();
  return (url) => {
    const [path = ""] = url.split("?");
    return pages.find(({ pattern }) => pattern.test(path))?.text ?? other;
  };
}

/** Converts the path of a page, such as `/extensions/:name`, into an expression. */
function toPattern(path: string): RegExp {
  return path === "*" ? /^/ : new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}/?$`);
}

function isPage({ method, url }: { readonly method: string; readonly url: string }): boolean {
  const [path = ""] = url.split("?");
  return (method === "GET" || method === "HEAD") && !isApiPath(path) && !FILE.test(path);
}
