import { problemAnswer } from "./answer.ts";
import { allAnswer } from "./contentAnswers.ts";
import { asked, type ContentRouteDependencies, ofContent } from "./contentRoutes.ts";
import type { Route } from "./route.ts";

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
