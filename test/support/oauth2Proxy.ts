import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { GO_COMPILE_FLAGS, getCacheRoot, readGoVersion, withDirectoryLock } from "../../pkg/devcluster/binaryCache.ts";
import { getErrorMessage } from "../../pkg/errors/errors.ts";

/** The version in config/console. */
export const OAUTH2_PROXY_VERSION = "v7.15.3";
const NAME = "oauth2-proxy";

/**
 * Finds oauth2-proxy on the PATH, or builds it once with Go (about two minutes), which downloads it through the Go module proxy.
 * @returns its path
 * @throws Error with the reason if it cannot be built
 */
export async function findOauth2Proxy(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const onPath = (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, NAME));
  const found = onPath.find((path) => existsSync(path));
  if (found !== undefined) return found;
  const folder = join(dirname(getCacheRoot(env)), `${NAME}-${OAUTH2_PROXY_VERSION}`);
  const program = join(folder, NAME);
  if (existsSync(program)) return program;
  if ((await readGoVersion(env)) === undefined) throw new Error(`the PATH contains neither ${NAME} nor a new enough Go`);
  await mkdir(dirname(folder), { recursive: true });
  await withDirectoryLock(
    `${folder}.lock`,
    () => undefined,
    async () => {
      if (existsSync(program)) return;
      const temporary = `${folder}.tmp`;
      await rm(temporary, { recursive: true, force: true });
      try {
        const module = `github.com/oauth2-proxy/oauth2-proxy/v7@${OAUTH2_PROXY_VERSION}`;
        await promisify(execFile)("go", ["install", ...GO_COMPILE_FLAGS, "-ldflags=-s -w", module], {
          env: { ...env, GOBIN: temporary, GOWORK: "off" },
        });
      } catch (err) {
        throw new Error(`${NAME} cannot be built: ${getErrorMessage(err).split("\n").slice(0, 3).join(" ")}`, { cause: err });
      }
      await rename(temporary, folder);
    },
  );
  return program;
}

/** What an identity provider issues for an authorization code. */
export interface IssuedTokens {
  readonly id_token: string;
  readonly access_token: string;
}

/** An OpenID Connect provider on loopback: its authorization endpoint, which the test plays, its token endpoint and its keys. */
export class IdentityProvider implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /** @param tokens by authorization code @param keys the JSON Web Key Set of the issuer of the ID tokens */
  static async start(tokens: ReadonlyMap<string, IssuedTokens>, keys: unknown): Promise<IdentityProvider> {
    const server = createServer((request, response) => void respond(request, response, tokens, keys));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new IdentityProvider(url, async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  tokens: ReadonlyMap<string, IssuedTokens>,
  keys: unknown,
): Promise<void> {
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  if (request.url === "/keys") return send(200, keys);
  if (request.method !== "POST" || request.url !== "/token") return send(404, {});
  const issued = tokens.get(new URLSearchParams(await text(request)).get("code") ?? "");
  return issued ? send(200, { ...issued, token_type: "Bearer", expires_in: 3_600 }) : send(400, { error: "invalid_grant" });
}

/** A browser with the cookies of one user, which follows no redirects. */
export class CookieJar {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** The header `Cookie`. */
  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(new URL(path, this.#origin), { headers: { ...headers, cookie: this.header }, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}
