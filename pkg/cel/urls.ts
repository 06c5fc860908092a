import { noOverload, type RuleFunction } from "./functions.ts";
import { Failure, OpaqueValue, type Result, UnsupportedFailure, type Value } from "./values.ts";

/** The parts of a URL as Go's net/url reads them. */
interface UrlParts {
  readonly scheme: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
}

const TYPE = "net.URL";
const SCHEME = /^([a-zA-Z][a-zA-Z0-9+.-]*):/;
const HOST = /^(?:\[([\da-fA-F:.]+)\]|([\w.~-]*))(?::(\d*))?$/;
// oxlint-disable-next-line no-control-regex -- Go rejects control characters
const CONTROL = /[\u0000-\u001F\u007F]/;
const BROKEN_ESCAPE = /%(?![\da-fA-F]{2})/;
const PLAIN_PATH = /^(?:[\w$&+,/:;=@.~!*'()-]|%[\da-fA-F]{2})*$/;

/**
 * Creates the functions of URLs that Kubernetes adds to CEL, without `getQuery`. They read URLs like Go's url.ParseRequestURI; unusual hosts and paths
 * are unsupported.
 * @see https://kubernetes.io/docs/reference/using-api/cel/ "Kubernetes URL library"
 */
export function createUrlFunctions(): ReadonlyMap<string, RuleFunction> {
  return new Map<string, RuleFunction>([
    ["url", ([text]) => toUrl(text)],
    ["isURL", ([text]) => isUrl(text)],
    ["getScheme", createReader("getScheme", "scheme")],
    ["getHost", createReader("getHost", "host")],
    ["getHostname", createReader("getHostname", "hostname")],
    ["getPort", createReader("getPort", "port")],
    ["getEscapedPath", createReader("getEscapedPath", "path")],
  ]);
}

function toUrl(text: Value | undefined): Result {
  if (typeof text !== "string") return noOverload("url", text);
  const parts = parseUrl(text);
  return parts instanceof Failure ? parts : new OpaqueValue(TYPE, text, parts);
}

function isUrl(text: Value | undefined): Result {
  if (typeof text !== "string") return noOverload("isURL", text);
  const parts = parseUrl(text);
  return parts instanceof UnsupportedFailure ? parts : !(parts instanceof Failure);
}

function createReader(name: string, part: keyof UrlParts): RuleFunction {
  return ([url]) => {
    if (!(url instanceof OpaqueValue) || url.type !== TYPE) return noOverload(name, url);
    const text = (url.content as UrlParts)[part];
    return part === "path" && !PLAIN_PATH.test(text) ? new UnsupportedFailure("the path of the URL must be escaped") : text;
  };
}

/** @returns a failure if the text is not a URL; UnsupportedFailure if only the API server can decide */
function parseUrl(text: string): UrlParts | Failure {
  const invalid = new Failure("URL parse error");
  if (text === "" || CONTROL.test(text) || text.startsWith(":")) return invalid;
  const [prefix = "", scheme = ""] = SCHEME.exec(text) ?? [];
  const [rest = ""] = text.slice(prefix.length).split("?", 1);
  const none = { scheme: scheme.toLowerCase(), host: "", hostname: "", port: "", path: "" };
  if (!rest.startsWith("/")) return scheme === "" ? invalid : none;
  if (scheme === "" || !rest.startsWith("//")) return BROKEN_ESCAPE.test(rest) ? invalid : { ...none, path: rest };
  const slash = rest.indexOf("/", 2);
  const [host, path] = slash === -1 ? [rest.slice(2), ""] : [rest.slice(2, slash), rest.slice(slash)];
  const found = HOST.exec(host);
  if (!found) return new UnsupportedFailure("the host of the URL has unusual characters");
  if (BROKEN_ESCAPE.test(path)) return invalid;
  return { ...none, host, hostname: found[1] ?? found[2] ?? "", port: found[3] ?? "", path };
}
