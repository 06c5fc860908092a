import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { JsonObjectScanner } from "../../fbc/documentScanner.ts";
import { isObject } from "../../golang/members.ts";
import type { QueryRequest } from "../graphql/queryMessage.ts";
import { ContentKeys, QueriesBusyError, type QueryThreads, toQueriedCatalog } from "../graphql/queryThreads.ts";
import { compressBytes } from "../store/encodings.ts";
import { chooseEncoding } from "./conditional.ts";
import { type ContentSource, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import { createDisconnectSignal, readRequestBody } from "./request.ts";
import type { ContentResponse } from "./response.ts";
import { CatalogPath, type CatalogServer } from "./route.ts";

/**
 * Parses the query in a request body. Like Go, uses only the first JSON value, matches member names
 * case-insensitively, ignores unknown members, and uses an empty query if there is none.
 * @returns undefined if the value is not a JSON object or a member has a wrong type.
 * @see Go 1.26 encoding/json Decoder.Decode
 */
function graphqlBody(bytes: Uint8Array): QueryRequest | undefined {
  const value = firstObject(bytes);
  if (value === undefined) return undefined;
  const member = (name: string): unknown => Object.entries(value).findLast(([key]) => key.toLowerCase() === name)?.[1] ?? undefined;
  const query = member("query") ?? "";
  // An empty operation name is treated as absent, as in most servers.
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
  // Go treats `null` as an object without members.
  if (scan.kind === "other" && /^null(?![\w$])/.test(text.toString("latin1", scan.start, scan.start + 5))) return {};
  if (scan.kind !== "object") return undefined;
  try {
    const value: unknown = JSON.parse(text.toString("utf8", scan.start, scan.end));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Dependencies of the endpoint. */
export interface GraphqlRouteDependencies {
  source: ContentSource;
  /** Undefined if queries are disabled. */
  queries?: QueryThreads | undefined;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_QUERY_BYTES = 100_000;
const BODY_TIMEOUT_MS = 5_000;
const QUERIES_OFF = "GraphQL queries are not enabled";
/** Smaller responses are not compressed. */
const MIN_COMPRESSED_BYTES = 1_024;

const GraphqlRequest = z
  .object({
    query: z.string().describe("GraphQL document, at most 100,000 bytes"),
    operationName: z.string().optional().describe("name of the operation to execute if the document contains several"),
    variables: z.record(z.string(), z.unknown()).optional().describe("values of the operation's variables"),
  })
  .meta({ id: "GraphqlRequest" });
const Location = z.object({ line: z.int().describe("from 1"), column: z.int().describe("from 1") });
const GraphqlResponse = z
  .object({
    data: z.record(z.string(), z.unknown()).nullable().describe("requested data; null if the query is invalid or exceeds a limit"),
    errors: z
      .array(
        z.object({
          message: z.string().describe("the problem"),
          locations: z.array(Location).describe("positions in the query; may be empty"),
          path: z
            .array(z.union([z.string(), z.int()]))
            .optional()
            .describe("path of the affected field in `data`"),
        }),
      )
      .optional()
      .describe("errors in the query or its fields"),
  })
  .meta({ id: "GraphqlResponse" });

/**
 * Registers the endpoint of GraphQL queries.
 * @see operator-controller df2c201d internal/catalogd/server/handlers.go, handleV1GraphQL
 */
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
          "The GraphQL schema is derived from the catalog and returned by introspection. It has the field `summary`, and a list field for each FBC schema " +
          "(`olmbundles` for `olm.bundle`) with the arguments `limit`, `offset`, `name` and `package`. A query that is invalid or exceeds a limit " +
          "(depth 10, 500 fields, 50 aliases, 5 seconds, 32 MiB of response) gets status 200 and `errors`.",
        body: { "application/json": GraphqlRequest },
        responses: {
          200: { description: "The data, or the errors in the query.", content: { "application/json": GraphqlResponse } },
          400: { description: "The request body is not a query or is too large." },
          503: { description: "GraphQL queries are disabled, or too many are in progress." },
        },
      },
    },
    // Rejects the query before the catalog name is checked.
    preValidation: queries ? [] : rejectQuery,
    handler: queries
      ? (request, reply) => answerQuery({ source, queries, keys, catalog: request.params.catalog }, request, reply)
      : rejectQuery,
  });
}

async function rejectQuery(): Promise<never> {
  throw new ProblemError("Unavailable", QUERIES_OFF, { text: QUERIES_OFF });
}

/** Input for the response to a query. */
interface Queried {
  readonly source: ContentSource;
  readonly queries: QueryThreads;
  readonly keys: ContentKeys;
  /** Name of the catalog. */
  readonly catalog: string;
}

async function answerQuery({ source, queries, keys, catalog }: Queried, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (request.headers.expect) reply.raw.writeContinue();
  const signal = createDisconnectSignal(reply.raw);
  const query = await readQuery(request.raw, signal);
  try {
    // Errors in the query are reported before a missing catalog.
    const early = source.get(catalog) ? undefined : await queries.run({ request: query, catalog: undefined }, signal);
    if (early) return await reply.respond(await resultResponse(early, request));
    await withContent(source, catalog, async (content) => {
      const found = await queries.run({ request: query, catalog: toQueriedCatalog(content, keys) }, signal);
      if (!found) throw new Error("the query did not find its catalog although the catalog is stored");
      await reply.respond(await resultResponse(found, request, { "olm-catalog-digest": content.origin.digest }));
    });
  } catch (err) {
    if (signal.aborted) throw new ProblemError("RequestTimeout", "the client has disconnected", { cause: err });
    if (err instanceof QueriesBusyError) throw new ProblemError("Overloaded", err.message, { headers: { "retry-after": 1 }, cause: err });
    throw err;
  }
}

/**
 * Reads the body regardless of its Content-Type, like the Go server. @throws ProblemError if it is
 * not a query.
 */
async function readQuery(request: Readable, signal: AbortSignal): Promise<QueryRequest> {
  const body = await readRequestBody(request, { maxBytes: MAX_BODY_BYTES, timeoutMs: BODY_TIMEOUT_MS, signal });
  // Closes the connection, because the unread rest would be parsed as the next request.
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
  const encoding = json.byteLength >= MIN_COMPRESSED_BYTES ? chooseEncoding(headers["accept-encoding"]) : undefined;
  const bytes = encoding ? await compressBytes(encoding, json) : json;
  const coding = encoding ? { "content-encoding": encoding } : {};
  return {
    status: 200,
    headers: { ...own, "content-type": "application/json", ...coding, "content-length": bytes.byteLength },
    body: { kind: "bytes", bytes },
  };
}
