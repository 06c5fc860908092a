import * as z from "zod";
import { subdomainFaults } from "../../api/names.ts";
import type { CatalogContent } from "../store/content.ts";
import type { MetaQuery } from "../store/contentIndex.ts";
import { FILE_SUFFIX } from "../store/encodings.ts";
import type { AnswerCache } from "./answerCache.ts";
import { allAnswer, type ContentRequest, documentAnswer, jsonDocument, metasAnswer } from "./contentResponse.ts";
import { parseMetaQuery } from "./request.ts";
import { type Answer, problemAnswer, textAnswer } from "./response.ts";
import type { Prepared, Route, RouteRequest } from "./route.ts";

/** Where the server finds content. */
export interface ContentSource {
  get(name: string): CatalogContent | undefined;
  /** Names of all catalogs that are known here, in any order: those whose content is there, and those whose content is still being loaded. */
  catalogs(): readonly string[];
  /** Whether content of a catalog of this name has to be here though it is not, such as in a replica that still loads it. Default: never. */
  expects?(name: string): boolean;
}

/** What the endpoints of catalogs' content are built from. */
export interface ContentRouteDependencies {
  source: ContentSource;
  cache: AnswerCache;
}

/** Another replica may have it at once. */
const RETRY_LATER = { "retry-after": 5 };
const JSON_LINES = "application/jsonl";
const UNKNOWN_PARAMETER = "the query has a parameter that is not schema, package or name, or something that cannot be read";
const MetaQueryParameters = z.strictObject({
  schema: z.string().optional().describe("schema of the metas, such as `olm.bundle`"),
  package: z.string().optional().describe("package that the metas belong to"),
  name: z.string().optional().describe("name of the metas"),
});

/** The endpoints of a catalog's metas. @see operator-controller df2c201d internal/catalogd/server/handlers.go */
export function contentRoutes({ source, cache }: ContentRouteDependencies): Route[] {
  return [
    {
      path: "/catalogs/{catalog}/api/v1/all",
      methods: ["GET", "HEAD"],
      failures: "text",
      operation: {
        id: "getAllMetas",
        summary: "All metas of a catalog",
        description:
          "The file-based catalog as JSON Lines, one meta a line, in the order of its files. Conditional requests and ranges work as on a static file; " +
          "with `Accept-Encoding: zstd` or `gzip` it comes compressed, without cost to the server.",
        responses: {
          200: { description: "The metas.", content: { [JSON_LINES]: undefined } },
          206: { description: "The wanted ranges of them.", content: { [JSON_LINES]: undefined, "multipart/byteranges": undefined } },
          304: { description: "They are those that the client knows." },
          412: { description: "They are not those that the request is about." },
          416: { description: "They do not have these ranges." },
        },
      },
      answer: (request) => ofContent(source, request, (content) => allAnswer({ content, part: content.catalog }, asked(request))),
    },
    {
      path: "/catalogs/{catalog}/api/v1/metas",
      methods: ["GET", "HEAD"],
      failures: "text",
      operation: {
        id: "findMetas",
        summary: "The metas of a catalog that match a filter",
        description:
          "As JSON Lines, in the order of the catalog. All parameters that are given have to match, exactly; of one that is repeated the first counts. " +
          "An `olm.package` has no package: ask for `schema=olm.package&name=NAME`. Conditional requests work, ranges do not.",
        query: MetaQueryParameters,
        responses: {
          200: { description: "The metas that match; none is an empty body.", content: { [JSON_LINES]: undefined } },
          304: { description: "They are those that the client knows." },
          412: { description: "They are not those that the request is about." },
        },
      },
      answer: (request) => {
        const query = (): MetaQuery | undefined => parseMetaQuery(request.query);
        return ofContent(
          source,
          request,
          (content) => metasAnswer({ content, part: content.catalog }, query() ?? {}, asked(request), cache),
          () => (query() ? undefined : problemAnswer("InvalidQuery", UNKNOWN_PARAMETER)),
        );
      },
    },
  ];
}

/**
 * What `answer` makes of the content of the catalog that the request names, which is held until the answer has been sent; the answers of the Go
 * server to a name that is none and to an unknown catalog.
 * @param refuse looks at the request before the catalog is looked for.
 */
export async function ofContent(
  source: ContentSource,
  request: RouteRequest,
  answer: (content: CatalogContent) => Answer | Promise<Answer>,
  refuse: () => Answer | undefined = () => undefined,
): Promise<Answer | Prepared> {
  const name = request.params["catalog"] ?? "";
  const refusal = nameRefusal(name) ?? refuse();
  if (refusal) return refusal;
  const content = source.get(name);
  if (!content && source.expects?.(name))
    return problemAnswer("CatalogNotLoaded", `the content of catalog ${JSON.stringify(name)} is being loaded; try again`, RETRY_LATER);
  if (!content)
    return problemAnswer("CatalogNotFound", `no catalog ${JSON.stringify(name)} is served here; /catalogs lists those that are`);
  content.hold();
  const release = (): void => content.release();
  try {
    return { answer: await answer(content), release };
  } catch (err) {
    release();
    throw err;
  }
}

/** The answer to a name that no catalog can have; undefined for one that a catalog can have. */
export function nameRefusal(name: string): Answer | undefined {
  const problems = subdomainFaults(name);
  if (problems.length === 0) return undefined;
  const detail = `invalid catalog name: ${problems.join("; ")}`;
  return textAnswer(400, detail, {}, { code: "InvalidCatalogName", detail });
}

/** What of a request matters for content. */
export function asked({ method, headers }: RouteRequest): ContentRequest {
  return { method: method === "HEAD" ? "HEAD" : "GET", headers };
}

/** The endpoint of what the check of a catalog's content found. */
export function findingsRoutes({ source }: Pick<ContentRouteDependencies, "source">): Route[] {
  return [
    {
      path: "/catalogs/{catalog}/findings",
      methods: ["GET", "HEAD"],
      failures: "problem",
      operation: {
        id: "getFindings",
        summary: "What is wrong with the content of a catalog",
        description:
          "As JSON Lines, one finding a line: `rule` (a stable code), `severity` (`error` for what opm refuses, else `warning`), `message`, `place` " +
          "(`file`, `document` and `line`, counted from 1) and `schema`, `package` and `name` of the meta. Errors come first, then by file and document; " +
          "at most 1,000. An empty body says that nothing was found. Conditional requests and ranges work as on a static file.",
        responses: {
          200: { description: "The findings.", content: { "application/jsonl": undefined } },
          206: {
            description: "The wanted ranges of them.",
            content: { "application/jsonl": undefined, "multipart/byteranges": undefined },
          },
          304: { description: "They are those that the client knows." },
          412: { description: "They are not those that the request is about." },
          416: { description: "They do not have these ranges." },
        },
      },
      answer: (request) =>
        ofContent(source, request, (content) => {
          const part = content.parts.get("findings");
          if (!part) return problemAnswer("Unavailable", "the content of this catalog has not been checked");
          return allAnswer({ content, part }, asked(request));
        }),
    },
  ];
}

/** One catalog as it is listed. */
const ListedCatalog = z
  .object({
    name: z.string().describe("name of the ClusterCatalog"),
    state: z.enum(["Serving", "Loading"]).describe("`Loading`: the content is not here yet, requests for it are answered with 503"),
    digest: z.string().optional().describe("digest of the image that the content is of"),
    ref: z.string().optional().describe("that image"),
    lastUnpacked: z.string().optional().describe("when the image was unpacked, RFC 3339"),
    lastModified: z.string().optional().describe("since when this content is served, RFC 3339"),
    objects: z.number().int().optional().describe("number of metas"),
    bytes: z.number().int().optional().describe("their size, uncompressed"),
    findings: z.number().int().optional().describe("how many errors and warnings the check of the content found"),
    encodings: z
      .array(z.enum(Object.keys(FILE_SUFFIX) as [string, ...string[]]))
      .optional()
      .describe("codings in which all of the content is ready"),
  })
  .meta({ id: "ListedCatalog", description: "A catalog and what is served of it; what is not known is left out." });
const CatalogList = z.object({ catalogs: z.array(ListedCatalog).describe("by name") }).meta({ id: "CatalogList" });

/** The endpoint that tells which catalogs are served. */
export function catalogListRoute({ source, cache }: ContentRouteDependencies): Route {
  return {
    path: "/catalogs",
    methods: ["GET", "HEAD"],
    failures: "problem",
    operation: {
      id: "listCatalogs",
      summary: "The catalogs that this server knows, with what it serves of each",
      responses: {
        200: { description: "The catalogs.", content: { "application/json": CatalogList } },
        304: { description: "They are as the client knows them." },
        412: { description: "They are not as the client knows them." },
      },
    },
    answer: (request) => {
      const catalogs = source.catalogs().toSorted((a, b) => (a < b ? -1 : 1));
      const list: z.infer<typeof CatalogList> = { catalogs: catalogs.map((name) => listed(name, source.get(name))) };
      return documentAnswer(jsonDocument(list), asked(request), cache);
    },
  };
}

function listed(name: string, content: CatalogContent | undefined): z.infer<typeof ListedCatalog> {
  if (!content) return { name, state: "Loading" };
  const { origin, catalog, lastModified } = content;
  return {
    name,
    state: "Serving",
    digest: origin.digest,
    ref: origin.ref,
    lastUnpacked: origin.lastUnpacked,
    lastModified: new Date(lastModified * 1_000).toISOString().replace(".000Z", "Z"),
    objects: catalog.index.lines,
    bytes: catalog.index.bytes,
    findings: content.findings.errors + content.findings.warnings,
    encodings: catalog.encodings.toSorted(),
  };
}
