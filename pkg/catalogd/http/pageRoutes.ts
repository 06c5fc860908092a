import { PAGE_HTML } from "../page/document.ts";
import { PAGE_JS } from "../page/script.ts";
import { PAGE_CSS } from "../page/style.ts";
import type { AnswerCache } from "./answerCache.ts";
import { asked } from "./contentRoutes.ts";
import { documentAnswer, documentOf } from "./documentAnswer.ts";
import type { Route } from "./route.ts";

/** Nothing from elsewhere is loaded, nothing in what catalogs say runs, and no other page may show this one in a frame. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const PARTS = [
  { path: "/ui", id: "getPage", summary: "A page to look at the catalogs with", type: "text/html; charset=utf-8", text: PAGE_HTML },
  { path: "/ui/script.js", id: "getPageScript", summary: "What the page does", type: "text/javascript; charset=utf-8", text: PAGE_JS },
  { path: "/ui/style.css", id: "getPageStyle", summary: "How the page looks", type: "text/css; charset=utf-8", text: PAGE_CSS },
] as const;

/** The endpoints of the read-only page for people; it uses the others. */
export function pageRoutes(cache: AnswerCache): Route[] {
  return PARTS.map(({ path, id, summary, type, text }) => {
    const document = documentOf(Buffer.from(text), type);
    return {
      path,
      methods: ["GET", "HEAD"],
      failures: "problem",
      operation: {
        id,
        summary,
        responses: {
          200: { description: "It.", content: { [type.replace(/;.*/, "")]: undefined } },
          304: { description: "It is the one that the client knows." },
        },
      },
      answer: async (request) => {
        const answer = await documentAnswer(document, asked(request), cache);
        return { ...answer, headers: { ...answer.headers, ...SECURITY } };
      },
    };
  });
}
