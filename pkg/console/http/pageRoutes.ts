import type { FastifyInstance } from "fastify";
import { renderIndexPage } from "../../serving/consoleAssets.ts";
import type { StaticAssets } from "../../serving/staticAssets.ts";

const YEAR_SECONDS = 31_536_000;
const INDEX_TYPE = "text/html; charset=utf-8";

/** Serves the built files of the pages. Each other path outside /api gets index.html, whose script shows the page of the path. */
export function registerPages(app: FastifyInstance, assets: StaticAssets): void {
  const index = renderIndexPage(assets, { base: "/", mode: "console" }); // pages have paths of several levels
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
    const isPage = request.method === "GET" && !request.url.startsWith("/api/") && !/\.\w+$/.test(request.url.split("?")[0] ?? "");
    if (!isPage) return reply.code(404).send({ kind: "notFound", message: "no such path" });
    return reply.header("content-type", INDEX_TYPE).header("cache-control", "no-store").send(index);
  });
}
