import type { ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import type { KubeObject } from "../api/k8s.ts";
import { Client } from "../kube/client.ts";
import { createLogger } from "../telemetry/log.ts";
import { Informer, type InformerOptions, withoutBulk } from "./informer.ts";

const THING = { apiVersion: "g.io/v1", kind: "Thing" };
const thing = (name: string, resourceVersion: string, uid = name): KubeObject => ({ ...THING, metadata: { name, uid, resourceVersion } });

const SOON = { timeout: 15_000 };
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Log level of warnings. */
const WARN = 40;

async function start(options: InformerOptions<KubeObject> = {}) {
  const script = { list: [] as KubeObject[], resourceVersion: "10", denial: undefined as Answer | undefined, endImmediately: false };
  const watches: ServerResponse[] = [];
  const api = await LoopbackApi.start(({ url }) => {
    if (url === "/apis/g.io/v1") return { json: { resources: [{ name: "things", kind: "Thing", namespaced: false }] } };
    if (script.denial) return script.denial;
    if (!url.includes("watch=true")) return { json: { items: script.list, metadata: { resourceVersion: script.resourceVersion } } };
    return (response) => {
      response.writeHead(200).flushHeaders();
      if (script.endImmediately) return void response.end();
      return void watches.push(response);
    };
  });
  const client = Client.of(api.credentials());
  const clock = new FakeClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    component: "test",
    level: "debug",
    destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const informer = new Informer(client, THING, { clock, ...options }, log);
  const seen: string[] = [];
  informer.onEvent(({ type, object }) => void seen.push(`${type} ${object.metadata.name}`));
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  open.push(
    async () => {
      stop.abort();
      await running;
    },
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  const send = (type: string, object: object): void => void watches.at(-1)?.write(`${JSON.stringify({ type, object })}\n`);
  const requests = (): string[] =>
    api.log.filter((line) => line.includes("/things")).map((line) => /(resourceVersion=\d+)/.exec(line)?.[1] ?? "list");
  const watching = async (count: number): Promise<void> => {
    await expect
      .poll(() => {
        clock.advance(1_000);
        return watches.length;
      }, SOON)
      .toBe(count);
  };
  return { script, watches, informer, seen, lines, clock, send, requests, watching, stop, running };
}

test("Informer calls onOpen for each watch that the API server accepts, also when a watch resumes without events", async () => {
  let opened = 0;
  const { informer, watches, watching, script, requests, clock } = await start({ onOpen: () => void opened++ });
  await informer.synced;
  await watching(1);
  watches.at(-1)?.destroy();
  await watching(2);
  await expect.poll(() => opened, SOON).toBe(2);
  expect(requests()).toEqual(["list", "resourceVersion=10", "resourceVersion=10"]);
  script.denial = statusAnswer(503, "ServiceUnavailable", "etcd is down");
  watches.at(-1)?.destroy();
  const rejected = requests().length + 2;
  await expect.poll(() => (clock.advance(1_000), requests().length), SOON).toBeGreaterThan(rejected);
  expect(opened).toBe(2);
  script.denial = undefined;
  await watching(3);
  await expect.poll(() => opened, SOON).toBe(3);
});

test("Informer lists, then watches from the list's resourceVersion, and bookmarks update the resourceVersion without an event", async () => {
  const { script, informer, seen, send, requests, watches, watching } = await start();
  script.list = [thing("a", "9")];
  await informer.synced;
  await watching(1);
  send("ADDED", thing("b", "11"));
  send("MODIFIED", thing("a", "12"));
  send("DELETED", thing("b", "13"));
  send("BOOKMARK", { metadata: { resourceVersion: "20" } });
  await expect.poll(() => seen, SOON).toEqual(["add a", "add b", "update a", "delete b"]);
  watches.at(-1)?.end();
  await watching(2);
  expect(requests()).toEqual(["list", "resourceVersion=10", "resourceVersion=20"]);
  expect(informer.get("a")?.metadata.resourceVersion).toBe("12");
  expect(informer.list()).toHaveLength(1);
});

test("Informer resumes a broken watch", async () => {
  const { watches, send, seen, requests, watching } = await start();
  await watching(1);
  send("ADDED", thing("a", "15"));
  await expect.poll(() => seen, SOON).toEqual(["add a"]);
  watches.at(-1)?.destroy();
  await watching(2);
  send("ADDED", thing("b", "16"));
  await expect.poll(() => seen, SOON).toEqual(["add a", "add b"]);
  expect(requests()).toEqual(["list", "resourceVersion=10", "resourceVersion=15"]);
});

test("Informer lists again and reports missed changes when the resourceVersion has expired", async () => {
  const { script, send, seen, requests, watching } = await start();
  script.list = [thing("a", "1"), thing("b", "2")];
  await watching(1);
  script.list = [thing("b", "2"), thing("c", "40")];
  script.resourceVersion = "50";
  send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
  await watching(2);
  expect(requests()).toEqual(["list", "resourceVersion=10", "list", "resourceVersion=50"]);
  expect(seen.slice(2)).toEqual(["delete a", "add c"]);
});

test.for<[string, Answer]>([
  ["permissions are missing", statusAnswer(403, "Forbidden", "things is forbidden")],
  ["the credentials are invalid", statusAnswer(401, "Unauthorized", "Unauthorized")],
  ["the server fails", statusAnswer(503, "ServiceUnavailable", "etcd")],
])("Informer keeps its objects, retries and recovers when %s", async ([, denial]) => {
  const { script, watches, informer, seen, lines, watching, clock } = await start();
  script.list = [thing("a", "1")];
  await watching(1);
  script.denial = denial;
  watches.at(-1)?.destroy();
  await expect
    .poll(() => {
      clock.advance(40_000);
      return lines.filter(({ msg }) => msg === "watch interrupted").length;
    })
    .toBeGreaterThan(3);
  expect(
    lines.filter(({ msg, level }) => msg === "watch interrupted" && level === WARN).length,
    "repeated warnings are suppressed",
  ).toBeLessThan(3);
  expect(informer.get("a")).toBeDefined();
  script.denial = undefined;
  script.list = [thing("a", "1"), thing("b", "30")];
  await watching(2);
  expect(seen).toEqual(["add a", "add b"]);
  expect(lines.filter(({ msg }) => msg === "watch resumed")).toHaveLength(1);
});

test("Informer logs the error of a handler and continues", async () => {
  const { informer, seen, lines, send, watching } = await start();
  informer.onEvent(() => {
    throw new Error("bad handler");
  });
  await watching(1);
  send("ADDED", thing("a", "11"));
  send("ADDED", thing("b", "12"));
  await expect.poll(() => seen, SOON).toEqual(["add a", "add b"]);
  expect(lines.filter(({ msg }) => msg === "event handler failed")).toMatchObject([
    { object: "a", err: { message: "bad handler" } },
    { object: "b" },
  ]);
});

test("Informer calls a new handler with the existing objects", async () => {
  const { script, informer } = await start();
  script.list = [thing("a", "1"), thing("b", "1")];
  await informer.synced;
  const late: string[] = [];
  informer.onEvent(({ type, object }) => void late.push(`${type} ${object.metadata.name}`));
  expect(late).toEqual(["add a", "add b"]);
});

test("Informer stores transformed objects and finds them by index", async () => {
  const { script, informer } = await start({ transform: withoutBulk });
  informer.addIndex("label", ({ metadata }) => Object.values(metadata.labels ?? {}));
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "1" };
  script.list = [
    { ...thing("a", "1"), metadata: { name: "a", resourceVersion: "1", managedFields: [{}], annotations, labels: { team: "x" } } },
  ];
  await informer.synced;
  expect(informer.get("a")?.metadata).toEqual({ name: "a", resourceVersion: "1", annotations: { kept: "1" }, labels: { team: "x" } });
  expect(informer.byIndex("label", "x")).toHaveLength(1);
});

test("Informer backs off when watches end immediately", async () => {
  const { script, requests, clock, watching } = await start();
  script.endImmediately = true;
  await expect.poll(requests, SOON).toEqual(["list", "resourceVersion=10"]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(requests()).toHaveLength(2);
  clock.advance(60_000);
  await expect.poll(() => requests().length, SOON).toBe(3);
  script.endImmediately = false;
  await watching(1);
});

test("Informer.synced rejects when the informer stops before its first list", async () => {
  const { script, informer, stop, running } = await start();
  script.denial = statusAnswer(403, "Forbidden", "no");
  stop.abort(new Error("stopping"));
  await running;
  await expect(informer.synced).rejects.toThrow("stopping");
  expect(informer.hasSynced).toBe(false);
});
