import { type Answer, NO_BODY, textAnswer } from "./answer.ts";
import type { Route } from "./route.ts";

/** The answer to a request that no route takes. @param samePath routes of its path, for other methods. */
export function otherAnswer(samePath: readonly Route[]): Answer {
  if (samePath.length === 0)
    return textAnswer(
      404,
      "404 page not found",
      {},
      { code: "PathNotFound", detail: "nothing is served at this path; /openapi.json tells what is" },
    );
  const methods = samePath.flatMap((route) => route.methods).join(", ");
  // The Go server does not tell it.
  const allow = samePath.every(({ failures }) => failures === "problem") ? { allow: methods } : {};
  return textAnswer(405, "Method Not Allowed", allow, { code: "MethodNotAllowed", detail: `this path is served to ${methods}` });
}

/** The answer that leads to the clean form of a path. */
export function redirect(method: string | undefined, location: string): Answer {
  if (method !== "GET" && method !== "HEAD") return { status: 307, headers: { location, "content-length": 0 }, body: NO_BODY };
  const target = location
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&#34;")
    .replaceAll("'", "&#39;");
  const bytes = Buffer.from(`<a href="${target}">Temporary Redirect</a>.\n\n`);
  const headers = { location, "content-type": "text/html; charset=utf-8", "content-length": bytes.length };
  return { status: 307, headers, body: { kind: "bytes", bytes } };
}
