import { afterEach, expect, test } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { Client } from "./client.ts";
import { ServiceAccountTokens } from "./tokens.ts";

const PATH = "/api/v1/namespaces/ns/serviceaccounts/sa/token";
const HOUR = 3_600_000;
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

interface Setup {
  tokens: ServiceAccountTokens;
  client: Client;
  api: LoopbackApi;
  clock: { now: number };
  answer: { next?: Answer | undefined };
}

/**
 * Starts a server that issues tokens t1, t2, … that are valid for an hour or `seconds`. Its clock is
 * late by `lateMs` compared with the test's clock. While `answer.next` is set, responds with it instead.
 */
async function start({ seconds = 3600, lateMs = 0 } = {}): Promise<Setup> {
  const clock = { now: Date.parse("2026-01-01T00:00:00Z") };
  const answer: Setup["answer"] = {};
  let minted = 0;
  const api = await LoopbackApi.start(({ url }) => {
    if (answer.next) return answer.next;
    if (url !== PATH) return {};
    const expirationTimestamp = new Date(clock.now - lateMs + seconds * 1000).toISOString();
    return { json: { spec: { expirationSeconds: seconds }, status: { token: `t${++minted}`, expirationTimestamp } } };
  });
  const client = Client.of(api.credentials());
  open.push(
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  return { tokens: new ServiceAccountTokens(client, { now: () => clock.now }), client, api, clock, answer };
}

test("a token is requested for an hour, used for 80% of it, then renewed", async () => {
  const { tokens, api, clock } = await start();
  const source = tokens.tokenFor("ns", "sa");
  expect(await source()).toBe("t1");
  clock.now += 0.79 * HOUR;
  expect(await source()).toBe("t1");
  clock.now += 0.01 * HOUR;
  expect(await source()).toBe("t2");
  expect(JSON.parse(api.requests[0]?.body ?? "")).toEqual({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3600 },
  });
  expect(api.log).toEqual([`POST ${PATH}`, `POST ${PATH}`]);
});

test.for<[when: string, given: { seconds?: number; lateMs?: number }, lifetimeMs: number]>([
  ["the clock of the API server is two hours late", { lateMs: 2 * HOUR }, HOUR],
  ["the clock of the API server is two hours ahead", { lateMs: -2 * HOUR }, HOUR],
  ["the API server chooses a shorter lifetime", { seconds: 600 }, 600_000],
])("a token is used for 80% of its lifetime when %s", async ([, given, lifetimeMs]) => {
  const { tokens, clock } = await start(given);
  const source = tokens.tokenFor("ns", "sa");
  expect(await source()).toBe("t1");
  clock.now += 0.79 * lifetimeMs;
  expect(await source()).toBe("t1");
  clock.now += 0.02 * lifetimeMs;
  expect(await source()).toBe("t2");
});

test("a forgotten token is not used again", async () => {
  const { tokens } = await start();
  const source = tokens.tokenFor("ns", "sa");
  expect(await source()).toBe("t1");
  tokens.forget("ns", "other");
  expect(await source()).toBe("t1");
  tokens.forget("ns", "sa");
  expect(await source()).toBe("t2");
});

test("concurrent callers share one request and one token", async () => {
  const { tokens, api } = await start();
  const tokenList = await Promise.all(Array.from({ length: 10 }, () => tokens.tokenFor("ns", "sa")()));
  expect(new Set(tokenList)).toEqual(new Set(["t1"]));
  expect(api.log).toHaveLength(1);
});

test("a rejected token is dropped, but not a newer token", async () => {
  const { tokens } = await start();
  const source = tokens.tokenFor("ns", "sa");
  await source();
  source.drop?.("an older one");
  expect(await source()).toBe("t1");
  source.drop?.("t1");
  expect(await source()).toBe("t2");
});

test("a request with a rejected token is retried with a new token", async () => {
  const { tokens, client, api, answer } = await start();
  const source = tokens.tokenFor("ns", "sa");
  await source();
  answer.next = undefined;
  const scoped = client.withToken(source);
  const refuseOnce: Answer = (response) => {
    answer.next = undefined;
    response.writeHead(401).end("{}");
  };
  answer.next = refuseOnce;
  await scoped.raw("GET", "/api");
  expect(api.requests.map(({ method, headers }) => [method, headers.authorization])).toEqual([
    ["POST", undefined],
    ["GET", "Bearer t1"],
    ["POST", undefined],
    ["GET", "Bearer t2"],
  ]);
});

test("the old token is used until it expires while the API server fails", async () => {
  const { tokens, clock, answer } = await start();
  const source = tokens.tokenFor("ns", "sa");
  await source();
  answer.next = statusAnswer(503, "ServiceUnavailable", "shutting down");
  clock.now += 0.9 * HOUR;
  expect(await source()).toBe("t1");
  clock.now += 0.2 * HOUR;
  await expect(source()).rejects.toMatchObject({ status: 503 });
});

test.for<[number, string]>([
  [403, "Forbidden"],
  [404, "NotFound"],
])("a renewal that returns %s fails immediately, because the ServiceAccount or the permission was removed", async ([status, reason]) => {
  const { tokens, clock, answer } = await start();
  const source = tokens.tokenFor("ns", "sa");
  await source();
  answer.next = statusAnswer(status, reason, "no");
  clock.now += 0.9 * HOUR;
  await expect(source()).rejects.toMatchObject({ status, reason });
});

test("a failed first request is not cached", async () => {
  const { tokens, answer } = await start();
  answer.next = statusAnswer(404, "NotFound", 'serviceaccounts "sa" not found');
  await expect(tokens.tokenFor("ns", "sa")()).rejects.toThrow('serviceaccounts "sa" not found');
  answer.next = undefined;
  expect(await tokens.tokenFor("ns", "sa")()).toBe("t1");
});
