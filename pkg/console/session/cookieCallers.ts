import type { IncomingHttpHeaders } from "node:http";
import { TOKEN_HEADER } from "../../consoleapi/session.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { Callers } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type LoginSessions, type NewSession, readCookie } from "../http/loginSessions.ts";

/** Name of the session cookie. */
export const SESSION_COOKIE = "olmv1-console";

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
    const isValid = this.#sessions.isValid(readCookie(headers.cookie, SESSION_COOKIE), typeof token === "string" ? token : undefined);
    if (isValid) return this.#identity;
    throw new ConsoleError("signedOut", "this browser is not logged in, or the session has expired", {
      next: "Open the link that olmv1 ui printed. Press Enter in its terminal for a new link.",
    });
  }

  hold(): () => void {
    return () => undefined;
  }

  logIn(token: string): NewSession | undefined {
    return this.#sessions.logIn(token);
  }

  [Symbol.dispose](): void {
    this.#identity[Symbol.dispose]();
  }
}
