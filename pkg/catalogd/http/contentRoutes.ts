import * as z from "zod";
import { catalogNameProblems } from "../catalogName.ts";
import type { CatalogContent } from "../store/content.ts";
import type { MetaQuery } from "../store/contentIndex.ts";
import { type Answer, problemAnswer, textAnswer } from "./answer.ts";
import type { AnswerCache } from "./answerCache.ts";
import { allAnswer, type ContentRequest, metasAnswer } from "./contentAnswers.ts";
import { parseMetaQuery } from "./metaQuery.ts";
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

/** The endpoints of a catalog's metas. @see operator-controller internal/catalogd/server/handlers.go */
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
  const problems = catalogNameProblems(name);
  if (problems.length === 0) return undefined;
  const detail = `invalid catalog name: ${problems.join("; ")}`;
  return textAnswer(400, detail, {}, { code: "InvalidCatalogName", detail });
}

/** What of a request matters for content. */
export function asked({ method, headers }: RouteRequest): ContentRequest {
  return { method: method === "HEAD" ? "HEAD" : "GET", headers };
}
