import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";

/** A session of a browser: the secret in its cookie, and the token that its pages send in a header. */
export interface NewSession {
  readonly cookie: string;
  readonly token: string;
}

/** Time after which an unused session expires, in milliseconds. */
export const SESSION_IDLE_MS = 12 * 60 * 60_000;
/** Time after which an unused login token expires, in milliseconds. */
const LOGIN_MS = 10 * 60_000;
const MAX_SESSIONS = 100;
const MAX_LOGINS = 20;

/**
 * Sessions of `olmv1 ui`. A login token is valid once and creates a session. A session needs two secrets: the cookie, which scripts cannot read, and
 * the token, which the page stores for its origin. The cookie alone is not enough, because browsers also send it to other servers on other ports of
 * this machine. Stores only hashes.
 */
export class LoginSessions {
  readonly #logins: LRUCache<string, true>;
  /** Hashes of tokens by hash of the cookie. */
  readonly #sessions: LRUCache<string, Buffer>;

  /** @param now clock in milliseconds */
  constructor(now: () => number = Date.now) {
    const perf = { now };
    this.#logins = new LRUCache({ max: MAX_LOGINS, ttl: LOGIN_MS, ttlResolution: 0, perf });
    this.#sessions = new LRUCache({ max: MAX_SESSIONS, ttl: SESSION_IDLE_MS, ttlResolution: 0, updateAgeOnGet: true, perf });
  }

  /** Creates a token for one login. */
  createLogin(): string {
    const token = createSecret();
    this.#logins.set(hash(token).toString("hex"), true);
    return token;
  }

  /** Uses a login token. Returns undefined if it is invalid, expired or used. */
  logIn(login: string): NewSession | undefined {
    const key = hash(login).toString("hex");
    if (!this.#logins.get(key)) return undefined;
    this.#logins.delete(key);
    const session = { cookie: createSecret(), token: createSecret() };
    this.#sessions.set(hash(session.cookie).toString("hex"), hash(session.token));
    return session;
  }

  /** Whether the secrets belong to a session that has not expired. */
  isValid(cookie: string | undefined, token: string | undefined): boolean {
    if (cookie === undefined || token === undefined) return false;
    const expected = this.#sessions.get(hash(cookie).toString("hex"));
    return expected !== undefined && timingSafeEqual(expected, hash(token));
  }
}

function createSecret(): string {
  return randomBytes(32).toString("base64url");
}

function hash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Returns the value of a cookie in a `Cookie` header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? "").split(";")) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
