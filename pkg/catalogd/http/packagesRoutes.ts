import * as z from "zod";
import type { CatalogContent } from "../store/content.ts";
import type { DerivedPart } from "../store/parts.ts";
import { type Answer, problemAnswer } from "./answer.ts";
import { allAnswer, metasAnswer } from "./contentAnswers.ts";
import { asked, type ContentRouteDependencies, ofContent } from "./contentRoutes.ts";
import { PackageLine, PropertiesLine } from "./packageSchemas.ts";
import { routeWithQuery } from "./queryParameters.ts";
import type { Operation, Route, RouteRequest } from "./route.ts";

const name = z.string().min(1).max(1_024).optional();
const PackagesQuery = z.strictObject({ package: name.describe("only this package; without it, all in order of their names") });
const PropertiesQuery = z.strictObject({
  package: name.describe("only bundles of this package"),
  name: name.describe("only bundles of this name"),
});

/** The endpoints that list packages and properties of one catalog. */
export function packagesRoutes(dependencies: ContentRouteDependencies): Route[] {
  return [
    routeWithQuery(PackagesQuery, {
      path: "/catalogs/{catalog}/packages",
      methods: ["GET", "HEAD"],
      failures: "problem",
      operation: {
        id: "listPackages",
        summary: "The packages of a catalog",
        description:
          "As JSON Lines, one package a line: what a list of Operators shows of it, and a digest that tells whether anything of the package has changed. " +
          "Without a parameter, conditional requests and ranges work as on a static file, and it comes compressed without cost to the server.",
        responses: responsesWith("The packages; an unknown package is an empty body.", PackageLine),
      },
      answer: (request, query) => partAnswer(dependencies, request, "packages", query),
    }),
    routeWithQuery(PropertiesQuery, {
      path: "/catalogs/{catalog}/properties",
      methods: ["GET", "HEAD"],
      failures: "problem",
      operation: {
        id: "listProperties",
        summary: "The properties of all bundles of a catalog",
        description:
          "As JSON Lines, one bundle a line, in the order of the catalog: what a dependency solver reads, a small part of the metas. " +
          "Without a parameter, conditional requests and ranges work as on a static file, and it comes compressed without cost to the server.",
        responses: responsesWith("The bundles that match; none is an empty body.", PropertiesLine),
      },
      answer: (request, query) => partAnswer(dependencies, request, "properties", query),
    }),
  ];
}

function responsesWith(description: string, line: z.ZodType): Operation["responses"] {
  return {
    200: { description, content: { "application/jsonl": line } },
    206: { description: "The wanted ranges of them.", content: { "application/jsonl": undefined, "multipart/byteranges": undefined } },
    304: { description: "They are those that the client knows." },
    412: { description: "They are not those that the request is about." },
    416: { description: "They do not have these ranges." },
  };
}

/** The whole part where the query is empty, else the lines that match. */
function partAnswer(
  { source, cache }: ContentRouteDependencies,
  request: RouteRequest,
  partName: DerivedPart,
  query: { readonly package?: string | undefined; readonly name?: string | undefined },
): ReturnType<Route["answer"]> {
  return ofContent(source, request, (content): Answer | Promise<Answer> => {
    const part = content.parts.get(partName);
    if (!part) return notMade(content, partName);
    const whole = query.package === undefined && query.name === undefined;
    if (whole) return allAnswer({ content, part }, asked(request));
    return metasAnswer({ content, part }, { package: query.package ?? "", name: query.name ?? "" }, asked(request), cache);
  });
}

function notMade({ origin }: CatalogContent, part: DerivedPart): Answer {
  return problemAnswer("CatalogNotLoaded", `the ${part} of ${origin.digest} have not been collected yet; try again`);
}
