import type { IncomingMessage } from "node:http";
import { type Answer, NO_BODY, textAnswer } from "./answer.ts";

const CONTENT_PATH = /^\/catalogs\/[^/]+\/api\/v1\/(?:all|metas)$/;

/** The answer to everything but GET and HEAD of content. */
export function otherAnswer(raw: IncomingMessage): Answer {
  const url = raw.url ?? "/";
  const path = url.split("?", 1)[0] ?? "";
  const clean = cleanPath(path);
  if (clean !== path) return redirect(raw.method, clean + url.slice(path.length));
  return CONTENT_PATH.test(path) ? textAnswer(405, "Method Not Allowed") : textAnswer(404, "404 page not found");
}

/** The path without empty, `.` and `..` segments, as Go's mux cleans it; a slash at the end stays. */
function cleanPath(path: string): string {
  if (!path.startsWith("/")) return path;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const slash = segments.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${segments.join("/")}${slash}`;
}

function redirect(method: string | undefined, location: string): Answer {
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
