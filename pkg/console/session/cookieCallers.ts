import type { IncomingHttpHeaders } from "node:http";
import { TOKEN_HEADER } from "../../consoleapi/session.ts";
import type { ClusterIdentity, HeldIdentity } from "../cluster/clusterIdentity.ts";
import type { Callers } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type LoginSessions, type NewSession, readCookie } from "../http/loginSessions.ts";

/**
 * Returns the name of the session cookie. Browsers send the cookies of a host to all its ports, so each console has its own name.
 * @param host value of the header `Host`
 */
export function getCookieName(host: string | undefined): string {
  return `olmv1-console-${/:(\d+)$/.exec(host ?? "")?.[1] ?? "80"}`;
}

/** Callers of `olmv1 ui`: every browser that logged in acts with the one identity of the kubeconfig. */
export class CookieCallers implements Callers {
  readonly #sessions: LoginSessions;
  readonly #identity: ClusterIdentity;

  constructor(sessions: LoginSessions, identity: ClusterIdentity) {
    this.#sessions = sessions;
    this.#identity = identity;
  }

  identify(headers: IncomingHttpHeaders): ClusterIdentity {
    const token = headers[TOKEN_HEADER];
    const cookie = readCookie(headers.cookie, getCookieName(headers.host));
    const isValid = this.#sessions.isValid(cookie, typeof token === "string" ? token : undefined);
    if (isValid) return this.#identity;
    throw new ConsoleError("signedOut", "this browser is not logged in, or the session has expired", {
      next: "Open the link that olmv1 ui printed. Press Enter in its terminal for a new link.",
    });
  }

  async hold(headers: IncomingHttpHeaders): Promise<HeldIdentity> {
    return { identity: this.identify(headers), release: () => undefined };
  }

  logIn(token: string): NewSession | undefined {
    const created = this.#sessions.logIn(token);
    if (created) this.#identity.prepare();
    return created;
  }

  [Symbol.dispose](): void {
    this.#identity[Symbol.dispose]();
  }
}
