import type { IncomingHttpHeaders } from "node:http";
import { TOKEN_HEADER } from "../../consoleapi/session.ts";
import type { ClusterIdentity, HeldIdentity } from "../cluster/clusterIdentity.ts";
import type { TokenIdentities } from "../cluster/tokenIdentities.ts";
import type { Callers } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";

/** A token of RFC 6750. Excludes two headers that were joined with a comma. */
const TOKEN = /^[\w.~+/-]+=*$/;

/**
 * Callers of the console in a cluster: each request carries the caller's bearer token, which an authenticating proxy adds. Requests must also have
 * the header of the console's own pages, because the proxy authenticates with a cookie, which browsers send with requests of other sites too.
 */
export class BearerCallers implements Callers {
  readonly #identities: TokenIdentities;

  constructor(identities: TokenIdentities) {
    this.#identities = identities;
  }

  identify(headers: IncomingHttpHeaders): ClusterIdentity {
    return this.#identities.find(readToken(headers));
  }

  async hold(headers: IncomingHttpHeaders): Promise<HeldIdentity> {
    return this.#identities.hold(readToken(headers));
  }

  [Symbol.dispose](): void {
    this.#identities[Symbol.dispose]();
  }
}

/**
 * Returns the bearer token of a request: of the Authorization header, in which oauth2-proxy passes the ID token, or of X-Forwarded-Access-Token, in
 * which it passes the access token. Unless told otherwise, the proxy removes these headers from the requests of clients.
 * @see https://github.com/oauth2-proxy/oauth2-proxy/blob/v7.15.3/pkg/apis/options/legacy_options.go getAuthorizationHeader, getPassAccessTokenHeader
 */
function readToken(headers: IncomingHttpHeaders): string {
  if (headers[TOKEN_HEADER] === undefined) throw new ConsoleError("forbidden", "the request does not come from a page of the console");
  const bearer = /^bearer +(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
  const token = bearer ?? headers["x-forwarded-access-token"];
  if (typeof token === "string" && TOKEN.test(token)) return token;
  throw new ConsoleError("signedOut", "the request has no bearer token", {
    next: "Open the console through its authenticating proxy, and configure the proxy to pass the token of the user.",
  });
}
