import type { IncomingHttpHeaders } from "node:http";
import { TOKEN_HEADER } from "../../consoleapi/session.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { TokenIdentities } from "../cluster/tokenIdentities.ts";
import type { Callers } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";

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

  hold(headers: IncomingHttpHeaders): () => void {
    return this.#identities.use(readToken(headers));
  }

  [Symbol.dispose](): void {
    this.#identities[Symbol.dispose]();
  }
}

/**
 * Returns the bearer token of a request: of the Authorization header, or of the header in which oauth2-proxy passes the access token.
 * @see https://oauth2-proxy.github.io/oauth2-proxy/configuration/overview (pass_authorization_header, pass_access_token)
 */
function readToken(headers: IncomingHttpHeaders): string {
  if (headers[TOKEN_HEADER] === undefined) throw new ConsoleError("forbidden", "the request does not come from a page of the console");
  const bearer = /^bearer +(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
  const forwarded = headers["x-forwarded-access-token"];
  const token = bearer ?? (typeof forwarded === "string" && forwarded !== "" ? forwarded : undefined);
  if (token !== undefined) return token;
  throw new ConsoleError("signedOut", "the request has no bearer token", {
    next: "Open the console through its authenticating proxy, and configure the proxy to pass the token of the user.",
  });
}
