import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { LoopbackApi } from "../../../test/support/loopbackApi.ts";
import { findMessage, OlmApi, readStream, TestConsole } from "../../../test/support/testConsole.ts";
import { TOKEN_HEADER } from "../../consoleapi/session.ts";

const LIMITS = { identities: 3, streamsOfOne: 2, sweepMs: 50, checkMs: 50 };

describe("the console in a cluster", () => {
  const olm = new OlmApi();
  let api: LoopbackApi;
  let console: TestConsole;
  let stop: AbortController;
  beforeAll(async () => {
    api = await LoopbackApi.start(olm.answer);
    olm.add("argocd");
  });
  afterAll(() => api[Symbol.asyncDispose]());
  beforeEach(async () => {
    stop = new AbortController();
    olm.users.set("alice-token", { name: "alice", mayList: true });
    olm.users.set("bob-token", { name: "bob", mayList: false });
    console = await TestConsole.start({ credentials: api.credentials({ token: "own-token" }), mode: "cluster", limits: LIMITS });
  });
  afterEach(async () => {
    stop.abort();
    await console[Symbol.asyncDispose]();
  });
  const headersOf = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}`, [TOKEN_HEADER]: "none" });
  const open = (token: string) => readStream(console.url, headersOf(token), stop.signal);
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${console.url}/api/session`, { headers })).status;

  test("users see what their own permissions allow when they send different tokens", async () => {
    const alice = await findMessage(open("alice-token"), ({ update }) => update.watches.extensions.state === "current");
    expect(alice.update.extensions.changed.map(({ name }) => name)).toEqual(["argocd"]);
    const bob = await findMessage(open("bob-token"), ({ update }) => update.watches.extensions.state === "forbidden");
    expect(bob.update.extensions.changed).toEqual([]);
    expect(bob.update.watches.extensions.message).toContain('User "bob" cannot list');
    const tokens = new Set(api.requests.map(({ headers }) => headers.authorization));
    expect(tokens).toEqual(new Set(["Bearer alice-token", "Bearer bob-token"]));
  });

  test("tabs of a user share one watch when they send the same token", async () => {
    await findMessage(open("alice-token"), ({ update }) => update.watches.extensions.state === "current");
    await findMessage(open("alice-token"), ({ update }) => update.watches.extensions.state === "current");
    expect([olm.watchCount, console.identities?.size]).toEqual([1, 1]);
  });

  test.each([
    { what: "no token", headers: {} },
    { what: "another scheme", headers: { authorization: "Basic YWxpY2U6eA==" } },
    { what: "an empty token", headers: { authorization: "Bearer " } },
    { what: "two tokens in one header", headers: { authorization: "Bearer alice-token, Bearer bob-token" } },
    { what: "two access tokens", headers: { "x-forwarded-access-token": "alice-token, bob-token" } },
    { what: "an unknown token", headers: { authorization: "Bearer unknown-token" } },
  ])("the API responds with 401 when the request has $what", async ({ headers }) => {
    expect(await statusOf({ ...headers, [TOKEN_HEADER]: "none" })).toBe(401);
  });

  test("the API accepts the headers of oauth2-proxy: the ID token as bearer token, or else the access token", async () => {
    expect(await statusOf({ "x-forwarded-access-token": "alice-token", [TOKEN_HEADER]: "none" })).toBe(200);
    const both = { authorization: "Bearer alice-token", "x-forwarded-access-token": "bob-token", [TOKEN_HEADER]: "none" };
    const session = await fetch(`${console.url}/api/session`, { headers: both });
    expect(await session.json()).toMatchObject({ user: "alice", mode: "cluster" });
  });

  test("the API responds with 403 when a request with a token does not come from a page of the console", async () => {
    expect(await statusOf({ authorization: "Bearer alice-token" })).toBe(403);
  });

  test("no caller can log in with a link", async () => {
    const response = await fetch(`${console.url}/api/login`, {
      method: "POST",
      headers: { ...headersOf("alice-token"), "content-type": "application/json" },
      body: JSON.stringify({ token: console.sessions.createLogin() }),
    });
    expect([response.status, response.headers.get("set-cookie")]).toEqual([401, null]);
  });

  test("an open stream ends when the API server does not accept its token any more", async () => {
    const stream = open("alice-token");
    await stream.next();
    olm.users.delete("alice-token");
    await expect(findMessage(stream, () => false)).rejects.toThrow("the event stream ended");
    expect(olm.watchCount).toBe(0);
    await expect(open("alice-token").next()).rejects.toThrow("status 401");
  });

  test("an open stream ends when the user may not list extensions any more, and the next one says so", async () => {
    const stream = open("alice-token");
    for await (const { update } of stream) if (update.watches.extensions.state === "current") break;
    const again = open("alice-token");
    await again.next();
    olm.users.set("alice-token", { name: "alice", mayList: false });
    await expect(findMessage(again, () => false)).rejects.toThrow("the event stream ended");
    const next = await findMessage(open("alice-token"), ({ update }) => update.watches.extensions.state === "forbidden");
    expect(next.update.extensions.changed).toEqual([]);
  });

  test("a followed log ends when the API server does not accept its token any more", async () => {
    const log = `${console.url}/api/pods/shop/web/log?container=manager&follow=true`;
    const response = await fetch(log, { headers: headersOf("alice-token"), signal: stop.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe("started\n");
    olm.users.delete("alice-token");
    await expect(reader?.read()).rejects.toThrow("terminated");
    expect((await fetch(log, { headers: headersOf("alice-token"), signal: stop.signal })).status).toBe(401);
  });

  test("a followed log ends when its user may not read it any more", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const log = `${console.url}/api/pods/shop/web/log?container=manager&follow=true`;
      const response = await fetch(log, { headers: headersOf("alice-token"), signal: stop.signal });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader?.read())?.value).toBe("started\n");
      olm.users.set("alice-token", { name: "alice", mayList: false });
      const next = expect(reader?.read()).rejects.toThrow("terminated");
      vi.advanceTimersByTime(60_000);
      await next;
      const attributes = { verb: "get", group: "", resource: "pods", subresource: "log", namespace: "shop", name: "web" };
      expect(JSON.parse(api.requests.at(-1)?.body ?? "")).toMatchObject({ spec: { resourceAttributes: attributes } });
      expect(await statusOf(headersOf("alice-token"))).toBe(200);
    } finally {
      vi.useRealTimers();
    }
  });

  test("requests without a stream end in 401 when the API server does not accept their token any more", async () => {
    expect(await statusOf(headersOf("alice-token"))).toBe(200);
    olm.users.delete("alice-token");
    await eventually(async () => expect(await statusOf(headersOf("alice-token"))).toBe(401), { timeoutMs: 20_000 });
  });

  test("invalid tokens do not keep other users out when they are more than the limit", async () => {
    const stream = open("alice-token");
    await stream.next();
    for (let i = 0; i < 10; i++) {
      expect(await statusOf(headersOf(`invalid-${i}`))).toBe(401);
      await expect(open(`invalid-${i}`).next()).rejects.toThrow("status 401");
    }
    expect(console.identities?.size).toBeLessThanOrEqual(LIMITS.identities);
    expect(await statusOf(headersOf("bob-token"))).toBe(200);
    olm.add("still-open");
    await findMessage(stream, ({ update }) => update.extensions.changed.some(({ name }) => name === "still-open"));
  });

  test("one user cannot open all streams, because each token has a limit", async () => {
    const [one, two] = [open("alice-token"), open("alice-token")];
    await Promise.all([one.next(), two.next()]);
    await expect(open("alice-token").next()).rejects.toThrow("status 429");
    await open("bob-token").next();
    await one.return(undefined);
    await eventually(async () => void (await open("alice-token").next()));
  });

  test("tokens are in no response and no line of the log", async () => {
    olm.users.delete("bob-token");
    await statusOf(headersOf("bob-token"));
    await findMessage(open("alice-token"), ({ update }) => update.watches.extensions.state === "current");
    await console.send("GET /api/session HTTP/1.1\nHost: x\nOrigin: https://a\nAuthorization: Bearer alice-token");
    for (const path of ["/api/session", "/api/unknown", "/api/installation"]) {
      const response = await fetch(console.url + path, { headers: headersOf("alice-token") });
      expect(await response.text()).not.toMatch(/(alice|bob|own)-token/);
    }
    expect(console.logs.length).toBeGreaterThan(0);
    expect(console.logs.join("\n")).not.toMatch(/(alice|bob|own)-token/);
  });

  test("the console rejects other hosts when the accepted hosts are configured", async () => {
    await using named = await TestConsole.start({
      credentials: api.credentials(),
      mode: "cluster",
      hosts: new Set(["console.example.com"]),
    });
    expect((await named.send("GET / HTTP/1.1\nHost: console.example.com")).status).toBe(200);
    expect((await named.send("GET / HTTP/1.1\nHost: CONSOLE.example.com\nOrigin: https://console.example.com")).status).toBe(200);
    expect((await named.send("GET / HTTP/1.1\nHost: console.example.com:80")).status).toBe(403);
    expect((await named.send("GET / HTTP/1.1")).status).toBe(403);
  });
});
