/** A request to the API server in the terms of audit logs and RBAC rules. */
export interface ApiRequest {
  /** A verb of RBAC, or "apply" for a server-side apply. */
  readonly verb: string;
  /** Such as "configmaps" or "clusterextensions/status"; the path if the request is not for a resource. */
  readonly resource: string;
  readonly namespace: string;
  /** Empty in requests for a collection. */
  readonly name: string;
  readonly dryRun: boolean;
  /** Such as "system:serviceaccount:ns:name", from the token of the request; empty without a token. */
  readonly user: string;
}

/** Selects requests; all given members must match. */
interface FaultMatch {
  readonly verb?: string | readonly string[];
  readonly resource?: string | readonly string[];
  readonly name?: string;
  /** Suffix of the user name. */
  readonly user?: string;
  /** Dry runs only match if this is true. */
  readonly dryRun?: boolean;
}

/** A fault: exactly one of the members `answer`, `cut` and `delayMs`. */
export interface FaultAction {
  /** Status to respond with instead of the API server, with `reason`, `message` and header Retry-After in seconds. */
  readonly answer?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfter?: number;
  /**
   * Breaks the connection before the request reaches the API server, or after the API server has responded; or breaks the connections of all watches
   * instead.
   */
  readonly cut?: "before" | "after" | "watches";
  /** Delays the request before it is forwarded. */
  readonly delayMs?: number;
}

/** A fault as data: its effect, the requests it matches, and how often it strikes. */
export interface FaultRule extends FaultAction {
  readonly on: FaultMatch;
  /** The first matching request that it strikes, counted from 1. */
  readonly nth?: number;
  /** How many requests it strikes from there; default 1. */
  readonly times?: number;
}

/** The active rules, and how often each has struck. */
export class ArmedFaults {
  readonly #rules: { readonly rule: FaultRule; seen: number; hits: number }[];

  constructor(rules: readonly FaultRule[] = []) {
    this.#rules = rules.map((rule) => ({ rule, seen: 0, hits: 0 }));
  }

  /** Returns how often each rule has struck, in the order of the rules. */
  get hits(): number[] {
    return this.#rules.map(({ hits }) => hits);
  }

  /** Returns the first rule that strikes this request; counts the request for each rule that matches. */
  strike(request: ApiRequest): FaultAction | undefined {
    const matching = this.#rules.filter(({ rule }) => matches(rule.on, request));
    for (const armed of matching) armed.seen++;
    const found = matching.find(({ rule: { nth = 1, times = 1 }, seen }) => seen >= nth && seen < nth + times);
    if (found) found.hits++;
    return found?.rule;
  }
}

interface RequestHeaders {
  authorization?: string | undefined;
  "content-type"?: string | undefined;
}

/** Whether a request matches. */
function matches({ verb, resource, name, user, dryRun = false }: FaultMatch, request: ApiRequest): boolean {
  const matchesPattern = (pattern: string | readonly string[] | undefined, is: string): boolean =>
    pattern === undefined || [pattern].flat().includes(is);
  return (
    matchesPattern(verb, request.verb) &&
    matchesPattern(resource, request.resource) &&
    matchesPattern(name, request.name) &&
    request.user.endsWith(user ?? "") &&
    dryRun === request.dryRun
  );
}

/** Reads the verb, resource and user of a request from its method, path with query, and headers. */
export function apiRequestFrom(method: string, target: string, headers: RequestHeaders): ApiRequest {
  const { pathname, searchParams } = new URL(target, "https://localhost");
  const [root, ...path] = pathname.split("/").slice(1).map(decodeURIComponent);
  const rest = path.slice(root === "api" ? 1 : 2);
  const isScoped = rest[0] === "namespaces" && rest.length > 2;
  const [resource, name = "", subresource] = isScoped ? rest.slice(2) : rest;
  const common = { dryRun: searchParams.has("dryRun"), user: parseUser(headers.authorization ?? "") };
  if (resource === undefined) return { ...common, verb: method.toLowerCase(), resource: pathname, namespace: "", name: "" };
  return {
    ...common,
    verb: parseVerb(method, name, searchParams, headers["content-type"] ?? ""),
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace: isScoped ? (rest[1] ?? "") : "",
    name,
  };
}

function parseVerb(method: string, name: string, query: URLSearchParams, contentType: string): string {
  switch (method) {
    case "GET":
      return query.has("watch") ? "watch" : name === "" ? "list" : "get";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return contentType.startsWith("application/apply-patch") ? "apply" : "patch";
    default:
      return method.toLowerCase();
  }
}

/** Reads the subject of a token, without verification. */
function parseUser(authorization: string): string {
  const [, payload] = authorization.replace(/^Bearer /, "").split(".");
  if (payload === undefined) return "";
  const { sub = "" } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { sub?: string };
  return sub;
}
