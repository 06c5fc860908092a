import * as z from "zod";
import type { AnswerCache } from "./answerCache.ts";
import { asked } from "./contentRoutes.ts";
import { documentAnswer, jsonDocument, type ServedDocument } from "./documentAnswer.ts";
import { openApiDocument } from "./openApi.ts";
import type { Route } from "./route.ts";

/** The endpoint of the document that describes `routes` and itself. */
export function openApiRoute(routes: readonly Route[], cache: AnswerCache): Route {
  let document: ServedDocument | undefined;
  const route: Route = {
    path: "/openapi.json",
    methods: ["GET", "HEAD"],
    failures: "problem",
    operation: {
      id: "getOpenApi",
      summary: "This API as an OpenAPI document",
      responses: {
        200: { description: "The document.", content: { "application/json": z.looseObject({}) } },
        304: { description: "It is the one that the client knows." },
      },
    },
    answer: (request) => {
      document ??= jsonDocument(openApiDocument([...routes, route]));
      return documentAnswer(document, asked(request), cache);
    },
  };
  return route;
}
