/** A request to the API server as audit logs and RBAC rules speak of it. */
export interface ApiRequest {
  /** Of RBAC, and "apply" for a server-side apply. */
  readonly verb: string;
  /** Such as "configmaps" or "clusterextensions/status"; the path for what is no resource. */
  readonly resource: string;
  readonly namespace: string;
  /** Empty in requests about a whole kind. */
  readonly name: string;
  readonly dryRun: boolean;
  /** Such as "system:serviceaccount:ns:name", from the token that the request carries; empty without. */
  readonly user: string;
}

/** Which requests; every member that is there has to match. */
interface FaultMatch {
  readonly verb?: string | readonly string[];
  readonly resource?: string | readonly string[];
  readonly name?: string;
  /** The end of the user's name. */
  readonly user?: string;
  /** Dry runs are only meant where this says so. */
  readonly dryRun?: boolean;
}

/** What goes wrong: exactly one of the members `answer`, `cut` and `delayMs`. */
export interface FaultAction {
  /** Status that is answered in place of the API server, with `reason`, `message` and header Retry-After in seconds. */
  readonly answer?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfter?: number;
  /** The connection breaks before the request reaches the API server, or once that has answered; or those of all watches do instead. */
  readonly cut?: "before" | "after" | "watches";
  /** The request reaches the API server so much later. */
  readonly delayMs?: number;
}

/** A fault as data: what goes wrong, with which requests, how often. */
export interface FaultRule extends FaultAction {
  readonly on: FaultMatch;
  /** The first request it happens to, counted from 1. */
  readonly nth?: number;
  /** How many requests it happens to from there on; default 1. */
  readonly times?: number;
}

/** Rules that are in force, and how often each has struck. */
export class ArmedFaults {
  readonly #rules: { readonly rule: FaultRule; seen: number; hits: number }[];

  constructor(rules: readonly FaultRule[] = []) {
    this.#rules = rules.map((rule) => ({ rule, seen: 0, hits: 0 }));
  }

  /** How often each rule has struck, in their order. */
  get hits(): number[] {
    return this.#rules.map(({ hits }) => hits);
  }

  /** The first rule that strikes this request; each that matches counts it. */
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

/** Whether a request is one of those meant. */
function matches({ verb, resource, name, user, dryRun = false }: FaultMatch, request: ApiRequest): boolean {
  const isOf = (wanted: string | readonly string[] | undefined, is: string): boolean =>
    wanted === undefined || [wanted].flat().includes(is);
  return (
    isOf(verb, request.verb) &&
    isOf(resource, request.resource) &&
    isOf(name, request.name) &&
    request.user.endsWith(user ?? "") &&
    dryRun === request.dryRun
  );
}

/** What a request is about, from its method, its path with query, and its headers. */
export function apiRequestFrom(method: string, target: string, headers: RequestHeaders): ApiRequest {
  const { pathname, searchParams } = new URL(target, "https://localhost");
  const [root, ...path] = pathname.split("/").slice(1).map(decodeURIComponent);
  const rest = path.slice(root === "api" ? 1 : 2);
  const isScoped = rest[0] === "namespaces" && rest.length > 2;
  const [resource, name = "", subresource] = isScoped ? rest.slice(2) : rest;
  const common = { dryRun: searchParams.has("dryRun"), user: userOf(headers.authorization ?? "") };
  if (resource === undefined) return { ...common, verb: method.toLowerCase(), resource: pathname, namespace: "", name: "" };
  return {
    ...common,
    verb: verbOf(method, name, searchParams, headers["content-type"] ?? ""),
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace: isScoped ? (rest[1] ?? "") : "",
    name,
  };
}

function verbOf(method: string, name: string, query: URLSearchParams, contentType: string): string {
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

/** The subject of a token as it says itself. */
function userOf(authorization: string): string {
  const [, payload] = authorization.replace(/^Bearer /, "").split(".");
  if (payload === undefined) return "";
  const { sub = "" } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { sub?: string };
  return sub;
}
