import * as z from "zod";
import { JsonScanner } from "../../fbc/documentScanner.ts";
import { isObject } from "../../golang/members.ts";
import type { QueryRequest } from "../graphql/queryMessage.ts";
import { ContentKeys, QueriesBusyError, type QueryThreads, queriedCatalog } from "../graphql/queryThreads.ts";
import { compressBytes } from "../store/encodings.ts";
import { chosenEncoding } from "./conditional.ts";
import { type ContentSource, nameRefusal, ofContent } from "./contentRoutes.ts";
import { requestBody } from "./request.ts";
import { type Answer, problemAnswer, textAnswer } from "./response.ts";
import type { Prepared, Route, RouteRequest } from "./route.ts";

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
  const scan = new JsonScanner().scan(text);
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
const GraphqlAnswer = z
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
  .meta({ id: "GraphqlAnswer" });

/** The endpoint that answers GraphQL queries. @see operator-controller df2c201d internal/catalogd/server/handlers.go, handleV1GraphQL */
export function graphqlRoutes(dependencies: GraphqlRouteDependencies): Route[] {
  const keys = new ContentKeys();
  return [
    {
      path: "/catalogs/{catalog}/api/v1/graphql",
      methods: ["POST"],
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
          200: { description: "The answer, or what is wrong with the query.", content: { "application/json": GraphqlAnswer } },
          400: { description: "The body is no query, or too large." },
          503: { description: "GraphQL queries are turned off, or too many are being executed." },
        },
      },
      answer: (request) => graphqlAnswer(request, dependencies, keys),
    },
  ];
}

async function graphqlAnswer(
  request: RouteRequest,
  { source, queries }: GraphqlRouteDependencies,
  keys: ContentKeys,
): Promise<Answer | Prepared> {
  if (!queries) return textAnswer(503, "GraphQL queries are not enabled");
  const name = request.params["catalog"] ?? "";
  const nameless = nameRefusal(name);
  if (nameless) return nameless;
  const query = await readQuery(request);
  if ("status" in query) return query;
  const { signal } = request;
  try {
    // What is wrong with the query itself is told before what is wrong with its catalog.
    const early = source.get(name) ? undefined : await queries.run({ request: query, catalog: undefined }, signal);
    if (early) return await resultAnswer(early, request);
    return await ofContent(source, request, async (content) => {
      const found = await queries.run({ request: query, catalog: queriedCatalog(content, keys) }, signal);
      if (!found) throw new Error("a query of a catalog was answered without it");
      return resultAnswer(found, request, { "olm-catalog-digest": content.origin.digest });
    });
  } catch (err) {
    if (signal.aborted) return problemAnswer("RequestTimeout", "the client is gone");
    if (err instanceof QueriesBusyError) return problemAnswer("Overloaded", err.message, { "retry-after": 1 });
    throw err;
  }
}

async function readQuery(request: RouteRequest): Promise<QueryRequest | Answer> {
  const body = await requestBody(request.body, { maxBytes: MAX_BODY_BYTES, timeoutMs: BODY_TIMEOUT_MS, signal: request.signal });
  // What was not read would be taken for the next request.
  if (!body) return badBody("Invalid request body", { connection: "close" });
  const query = graphqlBody(body);
  if (!query) return badBody("Invalid request body");
  if (query.query === "") return badBody("Query cannot be empty");
  if (Buffer.byteLength(query.query) > MAX_QUERY_BYTES) return badBody("Query too large");
  return query;
}

function badBody(text: string, headers: Answer["headers"] = {}): Answer {
  return textAnswer(400, text, headers, { code: "InvalidBody", detail: text });
}

async function resultAnswer(json: Uint8Array, { headers }: RouteRequest, own: Answer["headers"] = {}): Promise<Answer> {
  const encoding = json.byteLength >= MIN_COMPRESSED_BYTES ? chosenEncoding(headers["accept-encoding"]) : undefined;
  const bytes = encoding ? await compressBytes(encoding, json) : json;
  const coding = encoding ? { "content-encoding": encoding } : {};
  return {
    status: 200,
    headers: { ...own, "content-type": "application/json", ...coding, "content-length": bytes.byteLength },
    body: { kind: "bytes", bytes },
  };
}
