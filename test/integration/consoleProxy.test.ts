import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GROUP } from "../../pkg/api/constants.ts";
import { TOKEN_HEADER } from "../../pkg/consoleapi/session.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { renderKustomization } from "../support/manifests.ts";
import { CookieJar, findOauth2Proxy, IdentityProvider, type IssuedTokens, OAUTH2_PROXY_VERSION } from "../support/oauth2Proxy.ts";
import { ProgramProcess } from "../support/programProcess.ts";
import { RawConnection } from "../support/rawConnection.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { findMessage, readStream } from "../support/testConsole.ts";

const CLIENT_ID = "olmv1-console";
/** Header of requests of the pages. */
const PAGE = { [TOKEN_HEADER]: "none" };
const MAX_DELIVERY_MS = 20_000;

interface DeploymentSpec {
  readonly template: { readonly spec: { readonly containers: readonly Container[] } };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
}

describeWithCluster("the console behind oauth2-proxy", (cluster) => {
  const folder = new TempFolder();
  const stop = new AbortController();
  const tokens = new Map<string, IssuedTokens>();
  const resources = new AsyncDisposableStack();
  let containers: readonly Container[];
  let proxyUrl: string;
  let missing: string | undefined;

  beforeAll(async () => {
    const objects = await renderKustomization("config/console");
    const deployment = objects.find(({ kind }) => kind === "Deployment") as { spec?: DeploymentSpec } | undefined;
    containers = deployment?.spec?.template.spec.containers ?? [];
    const program = await findOauth2Proxy().catch((err: unknown) => {
      if (process.env["CI"] === "true") throw err;
      missing = String(err);
      console.warn(`NOT RUN: tests with oauth2-proxy: ${missing}`);
      return undefined;
    });
    if (program === undefined) return;
    await cluster.installCrds();
    const namespace = await cluster.namespace("console-proxy");
    for (const name of ["alice", "bob"]) {
      const verbs = name === "alice" ? ["get", "list", "watch"] : ["get"];
      await serviceAccount(cluster.client, namespace, name, [
        { apiGroups: [GROUP], resources: ["clusterextensions", "clustercatalogs"], verbs },
      ]);
      tokens.set(name, await issue(namespace, name));
    }
    const jwks = await cluster.client.request("GET", "/openid/v1/jwks", { headers: { accept: "application/jwk-set+json" } });
    const keys: unknown = await json(jwks.body);
    const provider = resources.use(await IdentityProvider.start(tokens, keys));
    const [consolePort = 0, proxyPort = 0] = await findFreePorts(2);
    const ca = (await Credentials.fromKubeConfig(cluster.kubeconfig).endpoint()).tls.ca ?? "";
    const changed: Readonly<Record<string, string>> = {
      "--bind-address": `127.0.0.1:${consolePort}`,
      "--api-server-ca-file": join(folder.write("files", { "ca.crt": ca }), "ca.crt"),
      "--catalogd-cas-dir": folder.write("authorities", {}),
      "--cache-dir": join(folder.path, "cache"),
      "--health-probe-bind-address": "127.0.0.1:0",
      "--http-address": `127.0.0.1:${proxyPort}`,
      "--upstream": `http://127.0.0.1:${consolePort}`,
    };
    const argsOf = (name: string): string[] =>
      (containers.find((one) => one.name === name)?.args ?? []).map((arg) => {
        const [flag = ""] = arg.split("=");
        return changed[flag] === undefined ? arg : `${flag}=${changed[flag]}`;
      });
    const { hostname, port } = new URL(cluster.server);
    const env = { ...process.env, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    const [, ...flags] = argsOf("console");
    const served = resources.use(
      new ProgramProcess(
        [join(cluster.programs, "console.js"), ...flags, `--allowed-host=127.0.0.1:${proxyPort}`, "--shutdown-delay=0s"],
        env,
      ),
    );
    await served.find(/"msg":"starting"/);
    const secret = {
      OAUTH2_PROXY_OIDC_ISSUER_URL: readClaim(tokens.get("alice")?.id_token ?? "", "iss"),
      OAUTH2_PROXY_CLIENT_ID: CLIENT_ID,
      OAUTH2_PROXY_CLIENT_SECRET: "secret",
      OAUTH2_PROXY_COOKIE_SECRET: "0123456789abcdef0123456789abcdef",
      OAUTH2_PROXY_REDIRECT_URL: `http://127.0.0.1:${proxyPort}/oauth2/callback`,
    };
    // The provider of this test has no discovery document, and its ID tokens have no email.
    const endpoints = ["--skip-oidc-discovery", `--login-url=${provider.url}/authorize`, `--redeem-url=${provider.url}/token`];
    endpoints.push(`--oidc-jwks-url=${provider.url}/keys`, "--oidc-email-claim=sub", "--oidc-enabled-signing-alg=ES256");
    const proxy = resources.use(new ProgramProcess([...argsOf("oauth2-proxy"), ...endpoints], { ...process.env, ...secret }, program));
    proxyUrl = `http://127.0.0.1:${proxyPort}`;
    await eventually(async () => {
      if (proxy.child.exitCode !== null) throw new Error(proxy.output);
      expect((await fetch(`${proxyUrl}/ready`)).status).toBe(200);
    });
  });
  afterAll(async () => {
    stop.abort();
    await resources.disposeAsync();
    folder[Symbol.dispose]();
  });

  /** Returns tokens of a ServiceAccount. The API server is their issuer, and so accepts the ID token as it would accept one of a configured provider. */
  async function issue(namespace: string, name: string): Promise<IssuedTokens> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const plain = (await cluster.client.raw("POST", path, createTokenRequest([]))) as TokenRequest;
    const audiences = [...readAudiences(plain.status.token), CLIENT_ID];
    const { status } = (await cluster.client.raw("POST", path, createTokenRequest(audiences))) as TokenRequest;
    return { id_token: status.token, access_token: `access-${name}` };
  }

  /** Signs in like a browser: follows the redirect to the provider, which returns a code, and then the one of the proxy. */
  async function signIn(name: string): Promise<CookieJar> {
    const browser = new CookieJar(proxyUrl);
    const start = await browser.get("/extensions?q=a");
    expect(start.status).toBe(302);
    const authorize = new URL(start.headers.get("location") ?? "");
    expect(authorize.pathname).toBe("/authorize");
    expect(authorize.searchParams.get("redirect_uri")).toBe(`${proxyUrl}/oauth2/callback`);
    const state = authorize.searchParams.get("state") ?? "";
    const callback = await browser.get(`/oauth2/callback?code=${name}&state=${encodeURIComponent(state)}`);
    expect([callback.status, callback.headers.get("location")]).toEqual([302, "/extensions?q=a"]);
    return browser;
  }

  test("config/console contains the version of oauth2-proxy that the tests run", () => {
    expect(containers.find(({ name }) => name === "oauth2-proxy")?.image).toBe(`quay.io/oauth2-proxy/oauth2-proxy:${OAUTH2_PROXY_VERSION}`);
  });

  test("users act with their own identity when they signed in at the provider", async ({ skip }) => {
    if (missing !== undefined) skip(missing);
    const [alice, bob] = [await signIn("alice"), await signIn("bob")];
    expect(await (await alice.get("/extensions")).text()).toContain('id="root"');
    for (const [browser, name] of [
      [alice, "alice"],
      [bob, "bob"],
    ] as const) {
      const session = await browser.get("/api/session", PAGE);
      expect([session.status, await session.json()]).toMatchObject([200, { user: expect.stringMatching(`:${name}$`) as string }]);
    }
    const denied = await findMessage(
      readStream(proxyUrl, { cookie: bob.header, ...PAGE }, stop.signal),
      ({ update }) => update.watches.extensions.state === "forbidden",
    );
    expect(denied.update.extensions.changed).toEqual([]);
  });

  test("the proxy delivers changes at once", async ({ skip }) => {
    if (missing !== undefined) skip(missing);
    const alice = await signIn("alice");
    const stream = readStream(proxyUrl, { cookie: alice.header, ...PAGE }, stop.signal);
    for (;;) {
      const { value } = await stream.next();
      if (value?.update.watches.extensions.state === "current") break;
    }
    const name = cluster.name("proxied");
    const timer = setTimeout(() => stop.abort(), MAX_DELIVERY_MS);
    const found = findMessage(stream, ({ update }) => update.extensions.changed.some((row) => row.name === name));
    await cluster.client.create(createExtension(name, { packageName: "p" }));
    await found;
    clearTimeout(timer);
  });

  test("the proxy redirects pages to the provider, and rejects requests of pages with 401, when nobody signed in", async ({ skip }) => {
    if (missing !== undefined) skip(missing);
    const browser = new CookieJar(proxyUrl);
    expect((await browser.get("/extensions")).status).toBe(302);
    const response = await browser.get("/api/session", PAGE);
    expect(response.status).toBe(401);
    expect((await browser.get("/api/events", { ...PAGE, authorization: "Bearer x" })).status).toBe(401);
  });

  test("a user cannot act as another one when the request contains other tokens", async ({ skip }) => {
    if (missing !== undefined) skip(missing);
    const bob = await signIn("bob");
    const other = tokens.get("alice")?.id_token ?? "";
    const session = await bob.get("/api/session", {
      ...PAGE,
      authorization: `Bearer ${other}`,
      "x-forwarded-access-token": other,
    });
    expect(await session.json()).toMatchObject({ user: expect.stringMatching(":bob$") as string });
  });

  test("a page of another site cannot use the session of the proxy", async ({ skip }) => {
    if (missing !== undefined) skip(missing);
    const alice = await signIn("alice");
    expect((await alice.get("/api/session")).status).toBe(403);
    expect((await alice.get("/api/session", { ...PAGE, origin: "https://attacker.example" })).status).toBe(403);
    expect((await alice.get("/api/session", { ...PAGE, "sec-fetch-site": "cross-site" })).status).toBe(403);
    const connection = await RawConnection.open(Number(new URL(proxyUrl).port));
    connection.write(`GET / HTTP/1.1\r\nHost: attacker.example\r\nCookie: ${alice.header}\r\n\r\n`);
    expect((await connection.answered())[0]?.status).toBe(403);
    connection.close();
  });
});

interface TokenRequest {
  readonly status: { readonly token: string };
}

function createTokenRequest(audiences: readonly string[]): object {
  return { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences } };
}

function readPayload(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

function readClaim(token: string, name: string): string {
  return String(readPayload(token)[name]);
}

function readAudiences(token: string): string[] {
  return [readPayload(token)["aud"] ?? []].flat().map(String);
}
