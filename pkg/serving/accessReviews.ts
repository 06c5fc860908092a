import { createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import type { Logger } from "../telemetry/log.ts";

/** Whether a request is allowed, otherwise the HTTP status and text of the response. */
export type AccessDecision = { allowed: true } | { allowed: false; status: 401 | 403 | 429 | 500; text: string };

/** The requested action, as in RBAC's nonResourceURLs. */
export interface NonResourceAction {
  /** For example "get". */
  verb: string;
  path: string;
}

/** Options of AccessReviews; the clock, in milliseconds, is passed in for tests. */
export interface AccessReviewsOptions {
  /** Needs permission to create TokenReviews and SubjectAccessReviews. */
  client: Pick<Client, "raw">;
  log: Logger;
  now?: () => number;
}

interface TokenReview {
  status?: { authenticated?: boolean; user?: UserInfo };
}
interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}
interface SubjectAccessReview {
  status?: { allowed?: boolean };
}

const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
const MAX_HELD = 256;
const MAX_UNDER_REVIEW = 16;
const REVIEW_TIMEOUT_MS = 10_000;
const MAX_NAME = 253;

/**
 * Authenticates and authorizes bearer tokens with the API server. Caches the last 256 decisions,
 * for a minute if allowed and for ten seconds if denied. Stores only a keyed hash of a token. Does
 * not cache failed reviews. Reviews at most 16 tokens at once, so that unauthorized clients cannot
 * trigger unlimited requests.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/metrics/filters
 */
export class AccessReviews {
  readonly #client: Pick<Client, "raw">;
  readonly #log: Logger;
  readonly #hashKey = randomBytes(32);
  /** Decisions by hash of token and action. */
  readonly #held: LRUCache<string, AccessDecision>;
  readonly #underReview = new Map<string, Promise<AccessDecision>>();

  constructor({ client, log, now = Date.now }: AccessReviewsOptions) {
    this.#client = client;
    this.#log = log;
    this.#held = new LRUCache({ max: MAX_HELD, ttl: ALLOWED_MS, ttlResolution: 0, perf: { now } });
  }

  /** Returns the decision for a request with this Authorization header. Never throws. */
  async check(authorization: string | undefined, action: NonResourceAction): Promise<AccessDecision> {
    const token = bearerToken(authorization);
    if (token === undefined) return { allowed: false, status: 401, text: "Unauthorized" };
    const key = createHmac("sha256", this.#hashKey).update(`${action.verb} ${action.path} ${token}`).digest("base64");
    const held = this.#held.get(key);
    if (held) return held;
    const under = this.#underReview.get(key);
    if (under) return under;
    if (this.#underReview.size >= MAX_UNDER_REVIEW) return { allowed: false, status: 429, text: "Too Many Requests" };
    const review = this.#review(token, action).finally(() => this.#underReview.delete(key));
    this.#underReview.set(key, review);
    const decision = await review;
    if (decision.allowed || decision.status !== 500) this.#held.set(key, decision, { ttl: decision.allowed ? ALLOWED_MS : REFUSED_MS });
    return decision;
  }

  async #review(token: string, action: NonResourceAction): Promise<AccessDecision> {
    let user: UserInfo | undefined;
    try {
      user = await this.#userOf(token);
    } catch (err) {
      this.#log.error({ path: action.path, reason: getErrorMessage(err) }, "token review failed");
      return { allowed: false, status: 500, text: "Authentication failed" };
    }
    if (!user) return { allowed: false, status: 401, text: "Unauthorized" };
    const name = (user.username ?? "").slice(0, MAX_NAME);
    try {
      if (await this.#mayDo(user, action)) return { allowed: true };
    } catch (err) {
      this.#log.error({ path: action.path, user: name, reason: getErrorMessage(err) }, "access review failed");
      return { allowed: false, status: 500, text: `Authorization for user ${name} failed` };
    }
    this.#log.debug({ path: action.path, user: name }, "access denied");
    return { allowed: false, status: 403, text: `Authorization denied for user ${name}` };
  }

  async #userOf(token: string): Promise<UserInfo | undefined> {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
    const { status } = (await this.#post("/apis/authentication.k8s.io/v1/tokenreviews", body)) as TokenReview;
    return status?.authenticated === true ? (status.user ?? {}) : undefined;
  }

  async #mayDo({ username, uid, groups, extra }: UserInfo, { verb, path }: NonResourceAction): Promise<boolean> {
    const spec = { user: username, uid, groups, extra, nonResourceAttributes: { verb, path } };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const { status } = (await this.#post("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)) as SubjectAccessReview;
    return status?.allowed === true;
  }

  #post(path: string, body: unknown): Promise<unknown> {
    return this.#client.raw("POST", path, body, { signal: AbortSignal.timeout(REVIEW_TIMEOUT_MS) });
  }
}

/** Returns the token of `Bearer x`; undefined for anything else. */
function bearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)\s*$/i.exec(authorization ?? "")?.[1];
}
