import { open } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CatalogStore } from "../catalogStore.ts";
import type { CatalogContent } from "../store/content.ts";
import { ContentKeys, QUEUE_LIMITS, QueriesBusyError, QueryThreads, THREAD_LIMITS, toQueriedCatalog } from "./queryThreads.ts";

const log = createLogger({ component: "test", level: "silent" });
const folder = new TempFolder();
const store = await CatalogStore.open({ dir: `${folder.path}/catalogs`, log });
const keys = new ContentKeys();
const never = new AbortController().signal;
afterAll(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

async function stored(name: string, lines: Iterable<string>): Promise<CatalogContent> {
  const root = folder.write(name, {});
  const file = await open(`${root}/a.json`, "w");
  for (const line of lines) await file.write(`${line}\n`);
  await file.close();
  return store.store(name, root, { ref: "r/c@sha256:1", digest: "sha256:1", lastUnpacked: "2026-01-02T03:04:05Z" }, never);
}

function* largeBundles(): Generator<string> {
  const text = "x".repeat(1_300_000);
  for (let i = 0; i < 20; i++) yield JSON.stringify({ schema: "olm.bundle", name: `b${i}`, text });
}

async function asked(threads: QueryThreads, content: CatalogContent, query: string, signal = never): Promise<unknown> {
  const response = await threads.run({ request: { query }, catalog: toQueriedCatalog(content, keys) }, signal);
  return JSON.parse(Buffer.from(response ?? []).toString());
}
const failure = (message: string): unknown => ({ data: null, errors: [{ message, locations: [] }] });

describe("threads for queries", () => {
  test("an expensive query fails at a limit and does not block the server", { timeout: 120_000 }, async () => {
    const content = await stored("large", largeBundles());
    const threads = new QueryThreads();
    const aliases = (fields: string): string => `{ ${Array.from({ length: 50 }, (_, i) => `a${i}: olmbundles { ${fields} }`).join(" ")} }`;
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    // On a busy machine the time limit is reached first.
    const late = failure("context deadline exceeded");
    const tooMuch = failure("query response exceeds 33554432 bytes. Request fewer fields, or fewer objects with the argument limit");
    expect([tooMuch, late]).toContainEqual(await asked(threads, content, aliases("text")));
    // A blocked server would not respond to any request.
    expect(turns).toBeGreaterThan(10);
    const tooManyRead = failure("query reads more than 268435456 bytes of objects. Request fewer objects with the argument limit");
    expect([tooManyRead, late]).toContainEqual(await asked(threads, content, aliases("name")));
    clearInterval(ticking);
    await expect(asked(threads, content, "{ olmbundles(limit: 2) { name } }")).resolves.toEqual({
      data: { olmbundles: [{ name: "b0" }, { name: "b1" }] },
    });
    await threads.close();
  });

  test("a query fails when it exceeds the time limit, even if no resolver checks the time", {
    timeout: 60_000,
  }, async () => {
    const content = await stored("slow", [JSON.stringify({ schema: "a", list: Array.from({ length: 100_000 }, () => ({ b: 1 })) })]);
    // The executor resolves __typename itself, so that no resolver checks the time.
    const slow = `{ ${Array.from({ length: 40 }, (_, i) => `a${i}: as { list { __typename } }`).join(" ")} }`;
    const threads = new QueryThreads({ ...QUEUE_LIMITS, threads: 1 }, { ...THREAD_LIMITS, run: 200 });
    await expect(asked(threads, content, slow)).resolves.toEqual(failure("context deadline exceeded"));
    await threads.close();
    const patient = new QueryThreads({ ...QUEUE_LIMITS, threads: 1 });
    await expect(asked(patient, content, "{ summary { totalSchemas } }")).resolves.toEqual({ data: { summary: { totalSchemas: 1 } } });
    await patient.close();
  });

  test("a thread that times out just as its response arrives gets no further query", { timeout: 60_000 }, async () => {
    const content = await stored("ending", ['{"schema":"a","name":"1"}']);
    const limits = { ...THREAD_LIMITS };
    const threads = new QueryThreads({ ...QUEUE_LIMITS, threads: 1 }, limits);
    const query = "{ __typename }"; // a response without a request to this thread
    await asked(threads, content, query);
    limits.start = 50;
    const first = asked(threads, content, query);
    await new Promise(setImmediate);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    await first;
    limits.start = THREAD_LIMITS.start;
    await expect(asked(threads, content, query)).resolves.toEqual({ data: { __typename: "Query" } });
    await threads.close();
  });

  test("queries wait for a free thread, and a query is rejected when too many queries wait", { timeout: 60_000 }, async () => {
    const content = await stored("small", ['{"schema":"a","name":"1"}']);
    const threads = new QueryThreads({ ...QUEUE_LIMITS, threads: 1, waiting: 3 });
    const running = Array.from({ length: 4 }, () => asked(threads, content, "{ as { name } }"));
    await expect(asked(threads, content, "{ as { name } }")).rejects.toBeInstanceOf(QueriesBusyError);
    await expect(Promise.all(running)).resolves.toEqual(Array.from({ length: 4 }, () => ({ data: { as: [{ name: "1" }] } })));
    expect(threads.size).toBe(1);
    await threads.close();
  });

  test("a waiting query is removed when its client disconnects, and rejected when it waits too long", { timeout: 60_000 }, async () => {
    const content = await stored("queue", ['{"schema":"a"}']);
    const threads = new QueryThreads({ ...QUEUE_LIMITS, threads: 1, waitMs: 1 });
    const client = new AbortController();
    const first = asked(threads, content, "{ as { schema } }");
    const second = asked(threads, content, "{ as { schema } }", client.signal);
    client.abort(new Error("gone"));
    await expect(second).rejects.toThrow("gone");
    await expect(asked(threads, content, "{ as { schema } }")).rejects.toThrow(
      "timed out waiting for other queries to finish. Try again later",
    );
    await expect(first).resolves.toEqual({ data: { as: [{ schema: "a" }] } });
    await threads.close();
    await expect(asked(threads, content, "{ as { schema } }")).rejects.toThrow("the server is shutting down");
  });

  test("a query ends when its client disconnects", { timeout: 60_000 }, async () => {
    const content = await stored("gone", ['{"schema":"a"}']);
    const threads = new QueryThreads();
    await expect(asked(threads, content, "{ as { schema } }", AbortSignal.abort())).resolves.toEqual(failure("context canceled"));
    await threads.close();
  });

  test("idle threads end, and the next query starts a new thread", async () => {
    const content = await stored("idle", ['{"schema":"a"}']);
    const threads = new QueryThreads({ ...QUEUE_LIMITS, idleMs: 1 });
    expect(threads.size).toBe(0);
    await asked(threads, content, "{ as { schema } }");
    await eventually(() => expect(threads.size).toBe(0));
    await expect(asked(threads, content, "{ as { schema } }")).resolves.toEqual({ data: { as: [{ schema: "a" }] } });
    await threads.close();
  });

  test("query thread keeps no response in memory while it waits for the next query", { timeout: 60_000 }, async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    const content = await stored("kept", ['{"schema":"a"}']);
    const threads = new QueryThreads({ ...QUEUE_LIMITS, threads: 1 });
    const responses: WeakRef<Uint8Array>[] = [];
    for (let i = 0; i < 50; i++) {
      const response = await threads.run({ request: { query: "{ as { schema } }" }, catalog: toQueriedCatalog(content, keys) }, never);
      if (response) responses.push(new WeakRef(response));
    }
    await new Promise(setImmediate);
    collectGarbage();
    expect(threads.size).toBe(1);
    expect(responses).toHaveLength(50);
    expect(responses.filter((response) => response.deref()).length).toBeLessThanOrEqual(1);
    await threads.close();
  });

  test("an unreadable catalog causes a server error, not a query error", async () => {
    const content = await stored("broken", ['{"schema":"a"}']);
    const threads = new QueryThreads();
    const catalog = { ...toQueriedCatalog(content, new ContentKeys()), key: -1, schemas: { fd: 999_999, bytes: 10 } };
    await expect(threads.run({ request: { query: "{ as { schema } }" }, catalog }, never)).rejects.toThrow("EBADF");
    await threads.close();
  });
});
