import { readFile } from "node:fs/promises";
import type { Client } from "./client.ts";
import type { TokenSource } from "./transport.ts";

/** Options of ServiceAccountTokens; the clock is passed in for tests. */
export interface ServiceAccountTokensOptions {
  /** Life asked for, in seconds; the API server refuses less than 600. */
  expirationSeconds?: number;
  now?: () => number;
}

interface MintedToken {
  token: string;
  renewAt: number;
  expiresAt: number;
}

/** Part of a token's life after which it is renewed. */
const RENEW_AT = 0.8;
const MINT_TIMEOUT_MS = 30_000;

/**
 * Tokens of ServiceAccounts by TokenRequest, one per account for everybody who asks: an hour long, renewed at 80 % of their life, dropped when
 * the API server refuses one. Needs `create` on serviceaccounts/token, nothing else.
 */
export class ServiceAccountTokens {
  readonly #client: Client;
  readonly #expirationSeconds: number;
  readonly #now: () => number;
  readonly #minted = new Map<string, MintedToken>();
  readonly #minting = new Map<string, Promise<MintedToken>>();

  constructor(client: Client, { expirationSeconds = 3600, now = Date.now }: ServiceAccountTokensOptions = {}) {
    this.#client = client;
    this.#expirationSeconds = expirationSeconds;
    this.#now = now;
  }

  /**
   * The source of one account's tokens; asking it costs a request only when there is no token or it is due for renewal.
   * It throws the KubeError of the TokenRequest: 404 when account or namespace are missing, 403 without the right to mint.
   * A renewal that fails for another reason leaves the old token in use until it expires.
   */
  tokenFor(namespace: string, name: string): TokenSource {
    const key = `${namespace}/${name}`;
    const source: TokenSource = () => this.#token(key, namespace, name);
    source.drop = (token) => {
      if (this.#minted.get(key)?.token === token) this.#minted.delete(key);
    };
    return source;
  }

  /** Drops the token of an account that nobody asks about any more; a source that is asked all the same mints a new one. */
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
      if (held && this.#minted.get(key) === held && now < held.expiresAt && isPassing(err)) return held.token;
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
    const answer = (await this.#client.raw("POST", path, body, { signal: AbortSignal.timeout(MINT_TIMEOUT_MS) })) as TokenRequest;
    const { token, expirationTimestamp } = answer.status ?? {};
    if (!token) throw new Error(`token of service account ${namespace}/${name}: the answer holds none`);
    const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : from + this.#expirationSeconds * 1000;
    return { token, expiresAt, renewAt: from + (expiresAt - from) * RENEW_AT };
  }
}

interface TokenRequest {
  status?: { token?: string; expirationTimestamp?: string };
}

/** True for failures that say nothing about the account: connection errors, 429, 5xx. */
function isPassing(err: unknown): boolean {
  const status = err instanceof Error && "status" in err && typeof err.status === "number" ? err.status : 500;
  return status === 429 || status >= 500;
}

/** Where the kubelet puts the token of a Pod's ServiceAccount. */
export const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** A ServiceAccount by its place. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The ServiceAccount that a program is, from the subject of its mounted token; the token is not verified, the API server does that.
 * @returns undefined when there is no such file: the program runs outside of a cluster
 * @throws Error `badly formatted subject: …` when the subject is not that of a ServiceAccount; for a file that holds no token, without its text
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
  const subject = subjectOf(token.trim());
  if (subject === undefined) throw new Error(`reading the ServiceAccount token: ${tokenFile} holds no JSON Web Token with a subject`);
  const [system, kind, namespace, name, ...more] = subject.split(":");
  if (system !== "system" || kind !== "serviceaccount" || !namespace || !name || more.length > 0)
    throw new Error(`badly formatted subject: ${subject}`);
  return { namespace, name };
}

function subjectOf(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null && "sub" in claims && typeof claims.sub === "string" ? claims.sub : undefined;
  } catch {
    return undefined;
  }
}
