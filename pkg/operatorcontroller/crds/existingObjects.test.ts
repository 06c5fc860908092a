import { afterEach, expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { PageOptions } from "../../kube/request.ts";
import { ObjectChecker, type ObjectLimits } from "./existingObjects.ts";

const KIB = 1024;
const LIMITS: ObjectLimits = {
  pageBytes: 4 * KIB * KIB,
  pageValues: 1_500_000,
  steps: 10_000_000,
  patternMs: 250,
};
const SCHEMA = { type: "object", properties: { spec: { type: "object", properties: { size: { type: "string", maxLength: 3 } } } } };
const THING = { apiVersion: "e.com/v1", kind: "Thing" };
const signal = new AbortController().signal;
const checkers: ObjectChecker[] = [];
afterEach(async () => {
  for (const checker of checkers.splice(0)) await checker.end();
});

/** An API server with custom resources. Counts the objects that are read. */
class Server {
  readonly requests: { limit: number; bytes: number }[] = [];
  readonly #objects: readonly KubeObject[];

  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects;
  }

  readonly list = (): never => {
    throw new Error("the objects were listed whole");
  };

  readonly listPage = (_: unknown, { limit, continue: token = "0", maxBytes }: PageOptions): Promise<Uint8Array | undefined> => {
    const from = Number(token);
    const items = this.#objects.slice(from, from + limit);
    const left = this.#objects.length - from - items.length;
    const metadata = left > 0 ? { continue: String(from + limit), remainingItemCount: left } : {};
    const page = new TextEncoder().encode(JSON.stringify({ kind: "ThingList", metadata, items }));
    this.requests.push({ limit, bytes: Math.min(page.byteLength, maxBytes) });
    return Promise.resolve(page.byteLength > maxBytes ? undefined : page);
  };
}

function newThings(count: number, spec: (index: number) => unknown): KubeObject[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: "e.com/v1",
    kind: "Thing",
    metadata: { name: `t${index}`, namespace: "ns" },
    spec: spec(index),
  }));
}

function check(server: Server, limits: Partial<ObjectLimits> = {}, schema: unknown = SCHEMA) {
  const checker = new ObjectChecker(new FakeClock(), { ...LIMITS, ...limits });
  checkers.push(checker);
  return checker.check(server, { checks: [{ ...THING, version: "v1", schema }], listAs: undefined }, signal);
}

test("ObjectChecker reads more objects per page while pages are small, and finds every invalid object", async () => {
  const server = new Server(newThings(200, (index) => ({ size: index % 20 === 7 ? "large" : "s" })));
  const names = [7, 27, 47, 67, 87].map((index) => `ns/t${index} (v1): spec.size: has more than 3 characters`);
  expect(await check(server)).toEqual({
    kind: "seen",
    count: 200,
    cut: undefined,
    invalid: 10,
    named: names,
    someUnknown: false,
    uncheckedRules: [],
  });
  expect(server.requests.map(({ limit }) => limit)).toEqual([4, 16, 64, 100, 100]);
});

test("ObjectChecker reads pages of about 1 MiB when objects are large", async () => {
  const server = new Server(newThings(30, () => ({ list: "x".repeat(1_350 * KIB) })));
  expect(await check(server)).toMatchObject({ kind: "seen", count: 30, cut: undefined, invalid: 0 });
  const [first, ...others] = server.requests;
  expect(first).toEqual({ limit: 4, bytes: LIMITS.pageBytes });
  expect(Math.max(...others.map(({ bytes }) => bytes))).toBeLessThan(3 * KIB * KIB);
});

test("ObjectChecker checks all objects before an object that is larger than a page, and reports that object", async () => {
  const server = new Server(newThings(10, (index) => ({ size: index === 3 ? "x".repeat(300 * KIB) : "s" })));
  const found = await check(server, { pageBytes: 256 * KIB });
  expect(found).toMatchObject({ count: 3, cut: { total: 10, reason: "a custom resource is larger than 262144 bytes" } });
});

test("ObjectChecker does not parse a page with too many values", async () => {
  const server = new Server(newThings(3, () => ({ list: Array.from({ length: 2_000 }, () => []) })));
  const found = await check(server, { pageValues: 1_000 });
  expect(found).toMatchObject({
    count: 0,
    cut: { reason: "a custom resource has too many list items and members: 4013, maximum 1000" },
  });
});

test("ObjectChecker stops at the limit of steps when the schema has too many nested alternatives", async () => {
  let schema: unknown = { type: "string" };
  for (let level = 0; level < 6; level++) schema = { anyOf: Array.from({ length: 8 }, () => ({ type: "array", items: schema })) };
  let value: unknown = "x";
  for (let level = 0; level < 6; level++) value = [value, value, value];
  const server = new Server(newThings(3, () => ({ size: "s", value })));
  const found = await check(server, { steps: 100_000 }, { properties: { spec: { properties: { value: schema } } } });
  expect(found).toMatchObject({ count: 0, cut: { total: 3, reason: "reached the limit of 100000 validation steps" } });
});

test("ObjectChecker continues in the background after five seconds, and returns the result until it is forgotten", async () => {
  const clock = new FakeClock();
  const checker = new ObjectChecker(clock, LIMITS);
  checkers.push(checker);
  const server = new Server(newThings(1_000, (index) => ({ size: index === 999 ? "large" : "s" })));
  const crd: KubeObject = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things", uid: "1" },
  };
  const request = { checks: [{ ...THING, version: "v1", schema: SCHEMA }], listAs: undefined };
  const follow = () => checker.follow("x", crd, server, request, signal);
  const first = follow();
  clock.advance(5_000);
  expect(await first).toMatchObject({ kind: "running", checked: 0 });
  const [found, again] = [await follow(), await follow()];
  expect(found).toMatchObject({ kind: "seen", count: 1_000, cut: undefined, invalid: 1 });
  const { length } = server.requests;
  expect(again).toBe(found);
  checker.forget("x");
  expect(await follow()).toEqual(found);
  expect(server.requests).toHaveLength(length * 2);
});

test("ObjectChecker reads only the metadata of one object when the check depends only on whether objects exist", async () => {
  const requested: unknown[] = [];
  const client = {
    listPage: () => Promise.reject(new Error("a page was read")),
    list: (_: unknown, options: object) => {
      requested.push(options);
      return Promise.resolve({ items: newThings(1, () => ({})), resourceVersion: "1" });
    },
  };
  const checker = new ObjectChecker(new FakeClock());
  expect(await checker.check(client as never, { checks: [], listAs: THING }, signal)).toMatchObject({
    kind: "seen",
    count: 1,
  });
  expect(requested).toEqual([{ limit: 1, maxItems: 1, metadataOnly: true, signal }]);
});
