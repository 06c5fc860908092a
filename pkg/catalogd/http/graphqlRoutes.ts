import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { JsonObjectScanner } from "../../fbc/documentScanner.ts";
import { isObject } from "../../golang/members.ts";
import type { QueryRequest } from "../graphql/queryMessage.ts";
import { ContentKeys, QueriesBusyError, type QueryThreads, queriedCatalog } from "../graphql/queryThreads.ts";
import { compressBytes } from "../store/encodings.ts";
import { chosenEncoding } from "./conditional.ts";
import { type ContentSource, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import { goneSignal, requestBody } from "./request.ts";
import type { ContentResponse } from "./response.ts";
import { CatalogPath, type CatalogServer } from "./route.ts";

/**
 * The query in the body of a request: its first JSON value, whatever follows; members are found whatever the case of their letters, others passed over. A
 * body without a query has an empty one.
 * @returns undefined for what is no JSON object, and for a member of a wrong type.
 * @see Go 1.26 encoding/json Decoder.Decode
 */
function graphqlBody(bytes: Uint8Array): QueryRequest | undefined {
  const value = firstObject(bytes);
  if (value === undefined) return undefined;
  const member = (name: string): unknown => Object.entries(value).findLast(([key]) => key.toLowerCase() === name)?.[1] ?? undefined;
  const query = member("query") ?? "";
  // An operation without a name is none, as for most servers.
  const operationName = member("operationname") || undefined;
  const variables = member("variables");
  if (typeof query !== "string") return undefined;
  if (operationName !== undefined && typeof operationName !== "string") return undefined;
  if (variables !== undefined && !isObject(variables)) return undefined;
  return { query, operationName, variables };
}

function firstObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const scan = new JsonObjectScanner().scan(text);
  // For Go `null` is an object without members.
  if (scan.kind === "other" && /^null(?![\w$])/.test(text.toString("latin1", scan.start, scan.start + 5))) return {};
  if (scan.kind !== "object") return undefined;
  try {
    const value: unknown = JSON.parse(text.toString("utf8", scan.start, scan.end));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What the endpoint is built from. */
export interface GraphqlRouteDependencies {
  source: ContentSource;
  /** Without, queries are turned off. */
  queries?: QueryThreads | undefined;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_QUERY_BYTES = 100_000;
const BODY_TIMEOUT_MS = 5_000;
const QUERIES_OFF = "GraphQL queries are not enabled";
/** Smaller answers are not worth compressing. */
const MIN_COMPRESSED_BYTES = 1_024;

const GraphqlRequest = z
  .object({
    query: z.string().describe("the document; at most 100,000 bytes"),
    operationName: z.string().optional().describe("the operation to execute, where the document has several"),
    variables: z.record(z.string(), z.unknown()).optional().describe("values of the operation's variables"),
  })
  .meta({ id: "GraphqlRequest" });
const Location = z.object({ line: z.int().describe("from 1"), column: z.int().describe("from 1") });
const GraphqlResponse = z
  .object({
    data: z.record(z.string(), z.unknown()).nullable().describe("what was asked for; null when the query is faulty or exceeds a limit"),
    errors: z
      .array(
        z.object({
          message: z.string().describe("what is wrong"),
          locations: z.array(Location).describe("where in the query; may be empty"),
          path: z
            .array(z.union([z.string(), z.int()]))
            .optional()
            .describe("which field of the data"),
        }),
      )
      .optional()
      .describe("what is wrong with the query, or could not be answered; absent when nothing is"),
  })
  .meta({ id: "GraphqlResponse" });

/** Registers the endpoint that answers GraphQL queries. @see operator-controller df2c201d internal/catalogd/server/handlers.go, handleV1GraphQL */
export function registerGraphqlRoute(server: CatalogServer, { source, queries }: GraphqlRouteDependencies): void {
  const keys = new ContentKeys();
  server.route({
    method: "POST",
    url: "/catalogs/:catalog/api/v1/graphql",
    schema: { params: CatalogPath },
    config: {
      failures: "text",
      operation: {
        id: "queryCatalog",
        summary: "Query a catalog with GraphQL",
        description:
          "The schema is made of the catalog: a list field for each FBC schema (`olmbundles` for `olm.bundle`) with the arguments `limit`, `offset`, `name` and " +
          "`package`, and `summary`. Introspection tells it. A faulty query, and one that is too large (depth 10, 500 fields, 50 aliases, 5 seconds, " +
          "32 MiB of answer), is answered with 200 and `errors`.",
        body: { "application/json": GraphqlRequest },
        responses: {
          200: { description: "The answer, or what is wrong with the query.", content: { "application/json": GraphqlResponse } },
          400: { description: "The body is no query, or too large." },
          503: { description: "GraphQL queries are turned off, or too many are being executed." },
        },
      },
    },
    // Before the name of the catalog is looked at.
    preValidation: queries ? [] : rejectQuery,
    handler: queries
      ? (request, reply) => answerQuery({ source, queries, keys, catalog: request.params.catalog }, request, reply)
      : rejectQuery,
  });
}

async function rejectQuery(): Promise<never> {
  throw new ProblemError("Unavailable", QUERIES_OFF, { text: QUERIES_OFF });
}

/** What a query is answered from. */
interface Queried {
  readonly source: ContentSource;
  readonly queries: QueryThreads;
  readonly keys: ContentKeys;
  /** Name of the catalog. */
  readonly catalog: string;
}

async function answerQuery({ source, queries, keys, catalog }: Queried, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (request.headers.expect) reply.raw.writeContinue();
  const signal = goneSignal(reply.raw);
  const query = await readQuery(request.raw, signal);
  try {
    // What is wrong with the query itself is reported before what is wrong with its catalog.
    const early = source.get(catalog) ? undefined : await queries.run({ request: query, catalog: undefined }, signal);
    if (early) return await reply.respond(await resultResponse(early, request));
    await withContent(source, catalog, async (content) => {
      const found = await queries.run({ request: query, catalog: queriedCatalog(content, keys) }, signal);
      if (!found) throw new Error("a query of a catalog was answered without it");
      await reply.respond(await resultResponse(found, request, { "olm-catalog-digest": content.origin.digest }));
    });
  } catch (err) {
    if (signal.aborted) throw new ProblemError("RequestTimeout", "the client is gone", { cause: err });
    if (err instanceof QueriesBusyError) throw new ProblemError("Overloaded", err.message, { headers: { "retry-after": 1 }, cause: err });
    throw err;
  }
}

/** Reads the body, whatever its Content-Type says, as the Go server does. @throws ProblemError when it is not a query. */
async function readQuery(request: Readable, signal: AbortSignal): Promise<QueryRequest> {
  const body = await requestBody(request, { maxBytes: MAX_BODY_BYTES, timeoutMs: BODY_TIMEOUT_MS, signal });
  // What was not read would be taken for the next request.
  if (!body) throw badBody("Invalid request body", { connection: "close" });
  const query = graphqlBody(body);
  if (!query) throw badBody("Invalid request body");
  if (query.query === "") throw badBody("Query cannot be empty");
  if (Buffer.byteLength(query.query) > MAX_QUERY_BYTES) throw badBody("Query too large");
  return query;
}

function badBody(text: string, headers: ContentResponse["headers"] = {}): ProblemError {
  return new ProblemError("InvalidBody", text, { text, headers });
}

async function resultResponse(
  json: Uint8Array,
  { headers }: Pick<FastifyRequest, "headers">,
  own: ContentResponse["headers"] = {},
): Promise<ContentResponse> {
  const encoding = json.byteLength >= MIN_COMPRESSED_BYTES ? chosenEncoding(headers["accept-encoding"]) : undefined;
  const bytes = encoding ? await compressBytes(encoding, json) : json;
  const coding = encoding ? { "content-encoding": encoding } : {};
  return {
    status: 200,
    headers: { ...own, "content-type": "application/json", ...coding, "content-length": bytes.byteLength },
    body: { kind: "bytes", bytes },
  };
}
