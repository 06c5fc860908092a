import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { messageOf } from "../../errors/errors.ts";
import type { TlsFiles } from "../../serving/tlsFiles.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { HistogramMetric } from "../../telemetry/metrics.ts";
import { catalogNameProblems } from "../catalogName.ts";
import type { CatalogContent } from "../content.ts";
import type { MetaQuery } from "../contentIndex.ts";
import { type Answer, statusAnswer, textAnswer, withoutBody } from "./answer.ts";
import { AnswerCache } from "./answerCache.ts";
import { allAnswer, type ContentRequest, metasAnswer } from "./contentAnswers.ts";
import { parseMetaQuery } from "./metaQuery.ts";
import { otherAnswer } from "./otherAnswer.ts";
import { BufferPool, sendAnswer } from "./send.ts";

/** Where the server finds content. */
export interface ContentSource {
  get(name: string): CatalogContent | undefined;
}

/** What the content server is built from. */
export interface ContentServerOptions {
  source: ContentSource;
  log: Logger;
  /** Certificate, key and which connections are accepted; plain HTTP without. */
  tls?: TlsFiles | undefined;
  /** Seconds each request took, by `code`. */
  duration?: HistogramMetric;
  cache?: AnswerCache;
}

/** A server that accepts requests. */
export interface ContentServer {
  readonly address: AddressInfo;
  /** Stops accepting, lets requests under way end for up to `graceMs`, then cuts them. */
  close(graceMs?: number): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 5 * 60_000;
const GRACE_MS = 20_000;

/**
 * Serves catalogs at `/catalogs/{catalog}/api/v1/all` and `/metas`. Nothing is parsed on a request but its headers: answers are byte ranges of
 * content files, conditional on tags.
 * @see operator-controller internal/catalogd/server/handlers.go
 */
export async function startContentServer(
  { host, port }: { host: string; port: number },
  options: ContentServerOptions,
): Promise<ContentServer> {
  const { tls } = options;
  const pool = new BufferPool();
  const badRequest = answerWith(() => statusAnswer(400), options, pool);
  const shared = {
    logger: false as const,
    exposeHeadRoutes: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (_err: unknown, request: FastifyRequest, reply: FastifyReply) => void badRequest(request, reply),
  };
  const app = (tls ? fastify({ ...shared, https: { ...tls.current } }) : fastify(shared)) as FastifyInstance;
  defineRoutes(app, options, pool);
  await app.listen({ host, port });
  const stopReloading = tls?.onChange((certificate) => (app.server as unknown as TlsServer).setSecureContext(certificate));
  return {
    address: app.server.address() as AddressInfo,
    async close(graceMs = GRACE_MS) {
      stopReloading?.();
      const timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
      await app.close();
      clearTimeout(timer);
    },
  };
}

function defineRoutes(app: FastifyInstance, options: ContentServerOptions, pool: BufferPool): void {
  const { source, cache = new AnswerCache() } = options;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const content = (path: "all" | "metas") =>
    app.route({
      method: ["GET", "HEAD"],
      url: `/catalogs/:catalog/api/v1/${path}`,
      handler: answerWith((request) => contentAnswer(request, path, source, cache), options, pool),
    });
  content("all");
  content("metas");
  app.setNotFoundHandler(answerWith((request) => otherAnswer(request.raw), options, pool));
}

/** A handler that sends what `make` gives, itself instead of through fastify. */
function answerWith(
  make: (request: FastifyRequest) => Answer | Prepared | Promise<Answer | Prepared>,
  options: ContentServerOptions,
  pool: BufferPool,
) {
  return (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack();
    return respond(request, reply.raw, () => Promise.resolve(make(request)), options, pool);
  };
}

/** An answer and what has to be let go of when it has been sent. */
interface Prepared {
  answer: Answer;
  release: () => void;
}

async function contentAnswer(
  request: FastifyRequest,
  path: "all" | "metas",
  source: ContentSource,
  cache: AnswerCache,
): Promise<Answer | Prepared> {
  const name = (request.params as { catalog: string }).catalog;
  if (name === "" || name === "." || name === "..") return otherAnswer(request.raw);
  const problems = catalogNameProblems(name);
  if (problems.length > 0) return textAnswer(400, `invalid catalog name: ${problems.join("; ")}`);
  const query = path === "all" ? {} : parseMetaQuery(queryOf(request.raw));
  if (!query) return statusAnswer(400);
  const content = source.get(name);
  if (!content) return statusAnswer(404);
  content.hold();
  const release = (): void => content.release();
  try {
    return { answer: await answerFrom(content, path, query, request.raw, cache), release };
  } catch (err) {
    release();
    throw err;
  }
}

function answerFrom(
  content: CatalogContent,
  path: "all" | "metas",
  query: MetaQuery,
  raw: IncomingMessage,
  cache: AnswerCache,
): Answer | Promise<Answer> {
  const request: ContentRequest = { method: raw.method === "HEAD" ? "HEAD" : "GET", headers: raw.headers };
  return path === "all" ? allAnswer(content, request) : metasAnswer(content, query, request, cache);
}

function queryOf(raw: IncomingMessage): string {
  const url = raw.url ?? "";
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}

async function respond(
  request: FastifyRequest,
  response: ServerResponse,
  make: () => Promise<Answer | Prepared>,
  { log, duration }: ContentServerOptions,
  pool: BufferPool,
): Promise<void> {
  const started = performance.now();
  response.setHeader("vary", "Accept-Encoding");
  const deadline = setTimeout(() => response.destroy(), ANSWER_TIMEOUT_MS).unref();
  let status = 500;
  let release: (() => void) | undefined;
  try {
    const made = await make();
    const answer = "answer" in made ? made.answer : made;
    if ("release" in made) release = made.release;
    ({ status } = answer);
    await sendAnswer(response, request.method === "HEAD" ? withoutBody(answer) : answer, pool);
  } catch (err) {
    log.error({ err, uri: request.url, code: status }, "HTTP error");
    if (!response.headersSent)
      await sendAnswer(response, statusAnswer(500), pool).catch((again: unknown) =>
        log.debug({ reason: messageOf(again) }, "no answer sent"),
      );
  } finally {
    release?.();
    clearTimeout(deadline);
    duration?.observe((performance.now() - started) / 1_000, { code: String(status) });
    log.debug({ method: request.method, uri: request.url, status }, "handled request");
  }
}
