import { expect, test } from "vitest";
import { createLogger } from "../telemetry/log.ts";
import { AccessReviews } from "./accessReviews.ts";

const GET = { verb: "get", path: "/metrics" };

/**
 * Simulates an API server that knows these users by token, and allows some of them access to
 * /metrics.
 */
class Reviewer {
  readonly users = new Map([
    ["reader-token", { username: "reader", uid: "1", groups: ["scrapers"], extra: { "example.com/node": ["n1"] } }],
    ["other-token", { username: "other" }],
  ]);
  allowed = (spec: Record<string, unknown>): boolean => spec["user"] === "reader";
  readonly specs: Record<string, unknown>[] = [];
  failing = "";
  paused: Promise<void> = Promise.resolve();

  async raw(_method: string, path: string, body?: unknown): Promise<unknown> {
    const { spec } = body as { spec: Record<string, unknown> };
    this.specs.push(spec);
    await this.paused;
    if (this.failing !== "" && path.endsWith(this.failing)) throw new Error("no route");
    if (!path.endsWith("/tokenreviews")) return { status: { allowed: this.allowed(spec) } };
    const user = this.users.get(String(spec["token"]));
    return { status: user ? { authenticated: true, user } : { error: "invalid bearer token" } };
  }
}

function setUp() {
  const client = new Reviewer();
  const lines: string[] = [];
  const log = createLogger({ component: "test", level: "debug", destination: { write: (line) => lines.push(line) } });
  const clock = { now: 1 };
  return { client, lines, clock, reviews: new AccessReviews({ client, log, now: () => clock.now }) };
}

// Source: I-09; the responses are those of controller-runtime's filter.
test.for([
  ["Bearer reader-token", { allowed: true }],
  ["bearer  reader-token", { allowed: true }],
  ["Bearer other-token", { allowed: false, status: 403, text: "Authorization denied for user other" }],
  ["Bearer unknown", { allowed: false, status: 401, text: "Unauthorized" }],
  ["Basic cmVhZGVyOng=", { allowed: false, status: 401, text: "Unauthorized" }],
  ["Bearer", { allowed: false, status: 401, text: "Unauthorized" }],
  [undefined, { allowed: false, status: 401, text: "Unauthorized" }],
] as const)("AccessReviews decides on Authorization header %j", async ([authorization, verdict]) => {
  expect(await setUp().reviews.check(authorization, GET)).toEqual(verdict);
});

test("AccessReviews sends all user information from the token review in the access review", async () => {
  const { client, reviews } = setUp();
  await reviews.check("Bearer reader-token", GET);
  expect(client.specs[1]).toEqual({
    user: "reader",
    uid: "1",
    groups: ["scrapers"],
    extra: { "example.com/node": ["n1"] },
    nonResourceAttributes: { verb: "get", path: "/metrics" },
  });
});

test.for([
  ["reader-token", 2, 59_000, 61_000],
  ["other-token", 2, 9_000, 11_000],
  ["unknown", 1, 9_000, 11_000],
] as const)("AccessReviews caches the decision for %s after %d reviews", async ([token, reviewed, before, after]) => {
  const { client, reviews, clock } = setUp();
  const ask = async (): Promise<number> => {
    await reviews.check(`Bearer ${token}`, GET);
    return client.specs.length;
  };
  expect([await ask(), await ask()]).toEqual([reviewed, reviewed]);
  clock.now = before;
  expect(await ask()).toBe(reviewed);
  clock.now = after;
  expect(await ask()).toBe(2 * reviewed);
});

test("AccessReviews uses a cached decision only for the same verb", async () => {
  const { client, reviews } = setUp();
  client.allowed = ({ nonResourceAttributes }) => (nonResourceAttributes as { verb: string }).verb === "get";
  expect(await reviews.check("Bearer reader-token", GET)).toEqual({ allowed: true });
  expect(await reviews.check("Bearer reader-token", { ...GET, verb: "head" })).toMatchObject({ status: 403 });
});

test("AccessReviews permits access after a permission is granted and the cached denial has expired", async () => {
  const { client, reviews, clock } = setUp();
  expect(await reviews.check("Bearer other-token", GET)).toMatchObject({ status: 403 });
  client.allowed = () => true;
  clock.now = 11_000;
  expect(await reviews.check("Bearer other-token", GET)).toEqual({ allowed: true });
});

test.for([
  ["tokenreviews", "Authentication failed"],
  ["subjectaccessreviews", "Authorization for user reader failed"],
])("AccessReviews logs failed %s and does not cache them", async ([failing, text]) => {
  const { client, reviews, lines } = setUp();
  client.failing = failing!;
  expect(await reviews.check("Bearer reader-token", GET)).toEqual({ allowed: false, status: 500, text });
  expect(lines.join("")).toContain("no route");
  client.failing = "";
  expect(await reviews.check("Bearer reader-token", GET)).toEqual({ allowed: true });
  expect(lines.join("")).not.toContain("reader-token");
});

test("AccessReviews reviews a token once for concurrent requests, and at most 16 tokens at once", async () => {
  const { client, reviews } = setUp();
  let resume: () => void = () => undefined;
  client.paused = new Promise((resolve) => {
    resume = resolve;
  });
  const waiting = [reviews.check("Bearer reader-token", GET), reviews.check("Bearer reader-token", GET)];
  const others = Array.from({ length: 15 }, (_, i) => reviews.check(`Bearer made-up-${i}`, GET));
  expect(client.specs).toHaveLength(16);
  expect(await reviews.check("Bearer one-too-many", GET)).toEqual({ allowed: false, status: 429, text: "Too Many Requests" });
  resume();
  expect(await Promise.all(waiting)).toEqual([{ allowed: true }, { allowed: true }]);
  expect(await Promise.all(others)).toContainEqual({ allowed: false, status: 401, text: "Unauthorized" });
  expect(await reviews.check("Bearer other-token", GET)).toMatchObject({ status: 403 });
});

test("AccessReviews removes the oldest decisions when too many decisions are cached", async () => {
  const { client, reviews } = setUp();
  await reviews.check("Bearer reader-token", GET);
  for (let i = 0; i < 256; i++) await reviews.check(`Bearer made-up-${i}`, GET);
  client.specs.length = 0;
  await reviews.check("Bearer made-up-255", GET);
  expect(client.specs).toHaveLength(0);
  await reviews.check("Bearer reader-token", GET);
  expect(client.specs).toHaveLength(2);
});
