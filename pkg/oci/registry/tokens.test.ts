import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type LoopbackRegistry, refuse } from "../../../test/support/loopbackRegistry.ts";
import { insecureRegistry, loopbackRegistry, puller, QUICK } from "../../../test/support/pulling.ts";
import { tarball } from "../../../test/support/tarball.ts";
import { mayReceivePassword, RegistryTokens, type TokenRequest } from "./tokens.ts";
import { RegistryTransport } from "./transport.ts";

const signal = new AbortController().signal;
const image = { layers: [tarball([{ name: "a", content: "1" }])] };
const PASSWORD = "s3cr3t-of-the-test";
const BASIC = `Basic ${btoa(`user:${PASSWORD}`)}`;

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("expected a failure"),
    (err: Error) => err,
  );
}

/** A registry that issues tokens itself, one after another, and accepts those in `valid`. */
async function tokenRegistry(
  o: { header?: (url: string) => string | string[]; answer?: (req: IncomingMessage, res: ServerResponse, n: number) => void } = {},
) {
  const registry = await loopbackRegistry();
  registry.addImage("ns/app", "v1", image);
  const valid = new Set<string>();
  const requested: { method: string; url: URL; authorization: string | undefined; body: string }[] = [];
  const giveToken = async (req: IncomingMessage, res: ServerResponse, url: URL): Promise<void> => {
    requested.push({ method: req.method ?? "", url, authorization: req.headers.authorization, body: await text(req) });
    const token = `token-${requested.length}`;
    valid.add(token);
    if (o.answer) o.answer(req, res, requested.length);
    else res.end(JSON.stringify({ token, expires_in: 300 }));
  };
  registry.misbehave = (req, res) => {
    const url = new URL(req.url ?? "", registry.url);
    if (url.pathname === "/token") {
      void giveToken(req, res, url);
      return true;
    }
    if (valid.has(req.headers.authorization?.replace("Bearer ", "") ?? "")) return false;
    res.setHeader("www-authenticate", o.header?.(registry.url) ?? `Bearer realm="${registry.url}/token",service="test"`);
    return refuse(res, 401, "UNAUTHORIZED", "authentication required");
  };
  return { registry, valid, asked: requested, tag: `${registry.host}/ns/app:v1`, conf: insecureRegistry(registry.host) };
}

function login(registry: LoopbackRegistry, entry: object = { username: "user", password: PASSWORD }): Record<string, object> {
  return { [registry.host]: entry };
}

describe("a bearer token", () => {
  test("a bearer token is requested with scope and service, and without authentication when no credentials exist", async () => {
    const { tag, conf, asked: requested } = await tokenRegistry();
    const { puller: p } = await puller({ conf });
    await p.pull("ext", tag, { signal });
    expect(requested.map(({ method, url, authorization }) => [method, url.search, authorization])).toEqual([
      ["GET", "?service=test&scope=repository%3Ans%2Fapp%3Apull", undefined],
    ]);
  });

  test("a bearer token is requested once with the password, and used for all requests of all pulls", async () => {
    const { registry, tag, conf, asked: requested } = await tokenRegistry();
    const { puller: p } = await puller({ conf, auths: login(registry) });
    await p.pull("ext", tag, { signal });
    await p.pull("other", tag, { signal });
    expect(requested.map(({ url, authorization }) => [url.searchParams.get("account"), authorization])).toEqual([["user", BASIC]]);
    expect(registry.requests.filter(({ headers }) => headers.authorization?.startsWith("Basic"))).toHaveLength(1);
  });

  test("a bearer token of one repository is not used for another", async () => {
    const { registry, conf, asked: requested } = await tokenRegistry();
    registry.addImage("ns/two", "v1", image);
    const { puller: p } = await puller({ conf });
    await p.pull("ext", `${registry.host}/ns/app:v1`, { signal });
    await p.pull("ext", `${registry.host}/ns/two:v1`, { signal });
    expect(requested.map(({ url }) => url.searchParams.get("scope"))).toEqual(["repository:ns/app:pull", "repository:ns/two:pull"]);
  });

  test("a bearer token is requested again once when the registry no longer accepts it", async () => {
    const { tag, conf, asked: requested, valid } = await tokenRegistry();
    const { puller: p } = await puller({ conf });
    await p.pull("ext", tag, { signal });
    valid.clear();
    await p.pull("other", tag, { signal });
    expect(requested).toHaveLength(2);
  });

  test.for([
    [70, 0],
    [70, 3_000],
    [3_700, 1e300],
  ] as const)("a bearer token lives for 1 minute to 1 hour: %i s later, with a lifetime of %d s", async ([afterS, expiresIn]) => {
    const answer = (_req: IncomingMessage, res: ServerResponse, n: number): void =>
      void res.end(JSON.stringify({ token: `token-${n}`, expires_in: expiresIn }));
    const { tag, conf, asked: requested } = await tokenRegistry({ answer });
    const { puller: p } = await puller({ conf });
    await p.pull("ext", tag, { signal });
    const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + afterS * 1000);
    await p.resolve(tag, signal);
    clock.mockRestore();
    expect(requested).toHaveLength(expiresIn === 3_000 ? 1 : 2);
  });

  test("all bearer tokens in memory together have at most 4 Mi characters", async () => {
    const long = (n: number): string => `token-${n}`.padEnd(65_000, "x");
    const answer = (_req: IncomingMessage, res: ServerResponse, n: number): void => void res.end(JSON.stringify({ token: long(n) }));
    const registry = await loopbackRegistry();
    let issued = 0;
    registry.misbehave = (req, res) => answer(req, res, ++issued) === undefined;
    const transport = new RegistryTransport({ limits: QUICK, env: {}, log: pino({ enabled: false }) });
    onTestFinished(() => transport.close());
    const tokens = new RegistryTokens(transport, pino({ enabled: false }));
    const want = (scope: string): TokenRequest => ({
      registry: new URL(registry.url),
      peer: { insecure: true, tls: { ca: [], fingerprint: "" } },
      challenge: { scheme: "bearer", params: new Map([["realm", `${registry.url}/token`]]) },
      scopes: [scope],
      credentials: undefined,
      signal,
    });
    for (let i = 0; i < 70; i++) await tokens.token(want(`${i}`));
    await tokens.token(want("69"));
    expect(issued).toBe(70);
    await tokens.token(want("0"));
    expect(issued).toBe(71);
  });

  test("a bearer token is not requested repeatedly when the registry always denies access", async () => {
    const {
      registry,
      tag,
      conf,
      asked: requested,
    } = await tokenRegistry({
      answer: (_req, res) => void res.end(JSON.stringify({ token: "worthless" })),
    });
    const { puller: p } = await puller({ conf });
    expect((await failure(p.pull("ext", tag, { signal }))).message).toBe(
      `error creating image source: reading manifest v1 in ${registry.host}/ns/app: authentication required`,
    );
    expect(requested).toHaveLength(2);
  });

  test("a bearer token with a wider scope is requested when the registry demands it", async () => {
    const { registry, tag, conf, asked: requested } = await tokenRegistry();
    const { misbehave } = registry;
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/manifests/") || req.headers.authorization !== "Bearer token-1") return misbehave(req, res);
      res.setHeader(
        "www-authenticate",
        `Bearer realm="${registry.url}/token",service="test",scope="repository:ns/base:pull",error="insufficient_scope"`,
      );
      return refuse(res, 403, "DENIED", "more");
    };
    const { puller: p } = await puller({ conf });
    await p.pull("ext", tag, { signal });
    expect(requested[1]?.url.searchParams.getAll("scope")).toEqual(["repository:ns/app:pull", "repository:ns/base:pull"]);
  });

  test("a bearer token is also read from member access_token of the response", async () => {
    const { tag, conf } = await tokenRegistry({ answer: (_req, res, n) => void res.end(JSON.stringify({ access_token: `token-${n}` })) });
    const { puller: p } = await puller({ conf });
    await p.pull("ext", tag, { signal });
  });

  test("an identity token is exchanged for a bearer token with POST", async () => {
    const { registry, tag, conf, asked: requested } = await tokenRegistry();
    const { puller: p } = await puller({ conf, auths: login(registry, { auth: btoa("<token>:"), identitytoken: "identity" }) });
    await p.pull("ext", tag, { signal });
    expect(requested.map(({ method, url, authorization }) => [method, url.search, authorization])).toEqual([["POST", "", undefined]]);
    expect(Object.fromEntries(new URLSearchParams(requested[0]?.body))).toEqual({
      grant_type: "refresh_token",
      refresh_token: "identity",
      client_id: "olmv1",
      service: "test",
      scope: "repository:ns/app:pull",
    });
  });

  test("a bearer token from the credentials file is sent unchanged", async () => {
    const { registry, tag, conf, asked: requested, valid } = await tokenRegistry();
    valid.add("ready-made");
    const { puller: p } = await puller({ conf, auths: login(registry, { registrytoken: "ready-made" }) });
    await p.pull("ext", tag, { signal });
    expect(requested).toEqual([]);
  });

  test.for<[string, (res: ServerResponse) => unknown, string]>([
    [
      "denies the password",
      (res) => refuse(res, 401, "UNAUTHORIZED", "who are you"),
      "unable to retrieve auth token: invalid username/password: unauthorized: who are you",
    ],
    ["returns 403", (res) => res.writeHead(403).end(), "Requesting bearer token: received unexpected HTTP status: 403 Forbidden"],
    ["limits requests", (res) => res.writeHead(429, { "retry-after": "999" }).end(), "too many requests to registry"],
    ["sends no token", (res) => res.end("{}"), "decoding bearer token: the response of HOST contains no token"],
    ["sends an invalid response", (res) => res.end("<html>"), "decoding bearer token: the response of HOST contains no token"],
    [
      "sends a long token",
      (res) => res.end(JSON.stringify({ token: "x".repeat(65_537) })),
      "decoding bearer token: the token of HOST is longer than 65536 characters",
    ],
    ["sends an endless response", (res) => res.end(Buffer.alloc(2 * 1024 * 1024)), "exceeded maximum allowed size of 1048576 bytes"],
  ])("the error reports a token service that %s", async ([, response, message]) => {
    const { registry, tag, conf } = await tokenRegistry({ answer: (_req, res) => void response(res) });
    const { puller: p } = await puller({ conf, auths: login(registry) });
    expect((await failure(p.pull("ext", tag, { signal }))).message).toBe(
      `error creating image source: ${message.replace("HOST", registry.host)}`,
    );
  });

  test.for<[string, (url: string) => string | string[]]>([
    ["on one line", (url) => `Negotiate, Bearer realm="${url}/token",service="test", Basic realm="test"`],
    ["on two lines", (url) => ["Digest realm=x", `Bearer realm="${url}/token"`]],
  ])("the bearer challenge is found among several challenges: %s", async ([, header]) => {
    const { tag, conf, asked: requested } = await tokenRegistry({ header });
    const { puller: p } = await puller({ conf });
    await p.pull("ext", tag, { signal });
    expect(requested).toHaveLength(1);
  });

  test.for(["Bearer", 'Bearer realm="/token"', 'Bearer realm="file:///x"'])(
    "the authentication challenge %s is invalid",
    async (header) => {
      const { tag, conf } = await tokenRegistry({ header: () => header });
      const { puller: p } = await puller({ conf });
      expect((await failure(p.pull("ext", tag, { signal }))).message).toBe(
        "error creating image source: missing realm in bearer auth challenge",
      );
    },
  );
});

test("a token service at a link-local address is never contacted", async () => {
  const { tag, conf } = await tokenRegistry({ header: () => 'Bearer realm="http://169.254.169.254/latest/meta-data"' });
  const { puller: p } = await puller({ conf });
  expect((await failure(p.pull("ext", tag, { signal }))).message).toMatch(
    /^error creating image source: Get "http:\/\/169\.254\.169\.254\/latest\/meta-data[^"]*": refused to connect to 169\.254\.169\.254, a link-local address$/,
  );
});

describe("the password", () => {
  test("the password is not sent when a plain HTTP registry sets an unrelated host as its token service", async () => {
    const thief = await loopbackRegistry();
    thief.misbehave = (_req, res) => {
      res.end(JSON.stringify({ token: "token-1" }));
      return true;
    };
    const realm = thief.url.replace("127.0.0.1", "localhost");
    const { registry, tag, conf, valid } = await tokenRegistry({ header: () => `Bearer realm="${realm}/token",service="test"` });
    valid.add("token-1");
    const { puller: p, logged } = await puller({ conf, auths: login(registry) });
    await p.pull("ext", tag, { signal });
    expect(thief.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/token?service=test&scope=repository%3Ans%2Fapp%3Apull", undefined],
    ]);
    expect(logged.join("")).toContain("registry credentials are not sent to this token service");
  });

  test.for<[registry: string, realm: string, insecure: boolean, want: boolean]>([
    ["https://r.io", "https://r.io/token", false, true],
    ["https://r.io", "https://r.io:8443/token", false, true],
    ["https://registry-1.docker.io", "https://auth.docker.io/token", false, true],
    ["https://r.io", "https://elsewhere.com/token", false, true],
    ["https://r.io", "http://r.io/token", false, false],
    ["https://r.io", "http://r.io/token", true, false],
    ["http://r.io", "http://r.io:5001/token", true, true],
    ["http://r.io", "https://r.io/token", true, true],
    ["http://r.io", "https://elsewhere.com/token", true, false],
    ["https://r.io", "https://elsewhere.com/token", true, false],
    ["http://registry.corp.example", "https://gitlab.corp.example/jwt", true, true],
    ["http://registry.corp.example", "http://gitlab.corp.example/jwt", true, false],
    ["http://registry.corp.example", "https://gitlab.other.example/jwt", true, false],
    ["http://a.com", "https://b.com/t", true, false],
    ["http://10.0.0.1", "https://10.0.0.2/t", true, false],
    ["http://[fd00::1]", "https://[fd00::2]/t", true, false],
  ])("the password is sent for registry %s, token service %s, insecure %o: %o", ([registry, realm, insecure, want]) => {
    expect(mayReceivePassword(new URL(realm), new URL(registry), insecure)).toBe(want);
  });

  test("the password is sent to a registry that requests basic authentication, and never logged", async () => {
    const registry = await loopbackRegistry();
    registry.addImage("ns/app", "v1", image);
    registry.misbehave = (req, res) => {
      if (req.headers.authorization === BASIC && req.url !== "/v2/ns/app/manifests/v2") return false;
      res.setHeader("www-authenticate", 'Basic realm="test"');
      return refuse(res, 401, "UNAUTHORIZED", "authentication required");
    };
    const { puller: p, logged } = await puller({ conf: insecureRegistry(registry.host), auths: login(registry) });
    await p.pull("ext", `${registry.host}/ns/app:v1`, { signal });
    const err = await failure(p.pull("ext", `${registry.host}/ns/app:v2`, { signal }));
    expect(err.message).toBe(`error creating image source: reading manifest v2 in ${registry.host}/ns/app: authentication required`);
    for (const secret of [PASSWORD, btoa(`user:${PASSWORD}`)]) expect(`${logged.join("")}${err.stack}`).not.toContain(secret);
  });

  test("the password of a registry is not sent to its mirror", async () => {
    const { registry, tag } = await tokenRegistry();
    const mirror = await loopbackRegistry();
    mirror.addImage("ns/app", "v1", image);
    mirror.misbehave = (req, res) => {
      if (req.headers.authorization) throw new Error("credentials at the mirror");
      if (req.url !== "/v2/") return false;
      res.setHeader("www-authenticate", 'Basic realm="mirror"');
      return refuse(res, 401, "UNAUTHORIZED", "authentication required");
    };
    const conf = `${insecureRegistry(registry.host)}[[registry.mirror]]\nlocation = "${mirror.host}"\ninsecure = true\n`;
    const { puller: p } = await puller({ conf, auths: login(registry) });
    await p.pull("ext", tag, { signal });
    expect(registry.requests).toEqual([]);
  });
});
