/** Path and query of a request, as they were sent. */
export interface RequestTarget {
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
}

/** The parts of a request line's target; of a whole URL, as a proxy gets it, those after the host. */
export function requestTarget(url: string): RequestTarget {
  const local = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** The path without empty, `.` and `..` segments, as Go's mux cleans it; a slash at the end stays. */
export function cleanPath(path: string): string {
  if (!path.startsWith("/") || !(path.includes("//") || path.includes("/."))) return path;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const slash = segments.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${segments.join("/")}${slash}`;
}
