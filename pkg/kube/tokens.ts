import { readFile } from "node:fs/promises";
import { systemClock } from "../async/clock.ts";
import type { Client } from "./client.ts";
import type { TokenSource } from "./transport.ts";

/** Options of ServiceAccountTokens. Tests set the clock. */
export interface ServiceAccountTokensOptions {
  /** Requested lifetime in seconds; the API server rejects less than 600. */
  expirationSeconds?: number;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
}

/** A token, with times of the monotonic clock. */
interface MintedToken {
  token: string;
  renewAt: number;
  expiresAt: number;
}

/** Fraction of a token's lifetime after which it is renewed. */
const RENEW_AT = 0.8;
const MINT_TIMEOUT_MS = 30_000;

/**
 * Tokens of ServiceAccounts by TokenRequest, one per account for all callers: valid for one hour,
 * renewed after 80% of their lifetime, and dropped when the API server rejects one. Requires only
 * the permission `create` on serviceaccounts/token. Does not compare the clock of the API server
 * with the local clock, because they may differ.
 */
export class ServiceAccountTokens {
  readonly #client: Client;
  readonly #expirationSeconds: number;
  readonly #now: () => number;
  readonly #minted = new Map<string, MintedToken>();
  readonly #minting = new Map<string, Promise<MintedToken>>();

  constructor(client: Client, { expirationSeconds = 3600, now = () => systemClock.now() }: ServiceAccountTokensOptions = {}) {
    this.#client = client;
    this.#expirationSeconds = expirationSeconds;
    this.#now = now;
  }

  /**
   * Returns the token source of an account. The source sends a request only if there is no token or
   * renewal is due. It throws the KubeError of the TokenRequest: 404 if account or namespace do not
   * exist, 403 without permission to create tokens. If a renewal fails for another reason, the old
   * token is used until it expires.
   */
  tokenFor(namespace: string, name: string): TokenSource {
    const key = `${namespace}/${name}`;
    const source: TokenSource = () => this.#token(key, namespace, name);
    source.drop = (token) => {
      if (this.#minted.get(key)?.token === token) this.#minted.delete(key);
    };
    return source;
  }

  /** Drops the token of an unused account. If its source is used again, it requests a new token. */
  forget(namespace: string, name: string): void {
    this.#minted.delete(`${namespace}/${name}`);
  }

  async #token(key: string, namespace: string, name: string): Promise<string> {
    const held = this.#minted.get(key);
    const now = this.#now();
    if (held && now < held.renewAt) return held.token;
    try {
      return (await this.#mintOnce(key, namespace, name)).token;
    } catch (err) {
      if (held && this.#minted.get(key) === held && now < held.expiresAt && isServerFailure(err)) return held.token;
      this.#minted.delete(key);
      throw err;
    }
  }

  #mintOnce(key: string, namespace: string, name: string): Promise<MintedToken> {
    const under = this.#minting.get(key);
    if (under) return under;
    const minting = this.#mint(namespace, name)
      .then((minted) => {
        this.#minted.set(key, minted);
        return minted;
      })
      .finally(() => this.#minting.delete(key));
    this.#minting.set(key, minting);
    return minting;
  }

  async #mint(namespace: string, name: string): Promise<MintedToken> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: this.#expirationSeconds } };
    const from = this.#now();
    const response = (await this.#client.raw("POST", path, body, {
      signal: AbortSignal.timeout(MINT_TIMEOUT_MS),
    })) as ServiceAccountTokenRequest;
    const { token } = response.status ?? {};
    if (!token) throw new Error(`token of service account ${namespace}/${name}: the response contains no token`);
    // The API server returns the lifetime that it chose.
    const lifetimeMs = (response.spec?.expirationSeconds ?? this.#expirationSeconds) * 1000;
    return { token, expiresAt: from + lifetimeMs, renewAt: from + lifetimeMs * RENEW_AT };
  }
}

interface ServiceAccountTokenRequest {
  spec?: { expirationSeconds?: number };
  status?: { token?: string };
}

/** Returns true for failures that do not depend on the account: no response in time, 429, 5xx. */
function isServerFailure(err: unknown): boolean {
  const status = err instanceof Error && "status" in err && typeof err.status === "number" ? err.status : 500;
  return status === 429 || status >= 500;
}

/** Path at which the kubelet mounts the token of a Pod's ServiceAccount. */
export const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** Namespace and name of a ServiceAccount. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Reads the ServiceAccount of the program from the subject of its mounted token. Does not verify
 * the token; the API server does.
 * @returns undefined if the file does not exist: the program runs outside of a cluster
 * @throws Error `badly formatted subject: …` if the subject is not a ServiceAccount; and if the
 * file contains no token, without quoting the file
 * @see operator-controller df2c201d internal/shared/util/sa/serviceaccount.go
 */
export async function readPodIdentity(tokenFile: string): Promise<ServiceAccountName | undefined> {
  let token: string;
  try {
    token = await readFile(tokenFile, "utf8");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`reading the ServiceAccount token: ${(err as Error).message}`, { cause: err });
  }
  const subject = readSubject(token.trim());
  if (subject === undefined)
    throw new Error(`reading the ServiceAccount token: ${tokenFile} does not contain a JSON Web Token with a subject`);
  const [system, kind, namespace, name, ...more] = subject.split(":");
  if (system !== "system" || kind !== "serviceaccount" || !namespace || !name || more.length > 0)
    throw new Error(`badly formatted subject: ${subject}`);
  return { namespace, name };
}

function readSubject(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null && "sub" in claims && typeof claims.sub === "string" ? claims.sub : undefined;
  } catch {
    return undefined;
  }
}
