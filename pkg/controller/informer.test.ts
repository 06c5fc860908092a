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

/** A server with a list and watches that the test feeds. */
const WARN = 40;

async function start(options: InformerOptions<KubeObject> = {}) {
  const script = { list: [] as KubeObject[], resourceVersion: "10", refuse: undefined as Answer | undefined, endAtOnce: false };
  const watches: ServerResponse[] = [];
  const api = await LoopbackApi.start(({ url }) => {
    if (url === "/apis/g.io/v1") return { json: { resources: [{ name: "things", kind: "Thing", namespaced: false }] } };
    if (script.refuse) return script.refuse;
    if (!url.includes("watch=true")) return { json: { items: script.list, metadata: { resourceVersion: script.resourceVersion } } };
    return (response) => {
      response.writeHead(200).flushHeaders();
      if (script.endAtOnce) return void response.end();
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
  const asked = (): string[] =>
    api.log.filter((line) => line.includes("/things")).map((line) => /(resourceVersion=\d+)/.exec(line)?.[1] ?? "list");
  const watching = async (count: number): Promise<void> => {
    await expect
      .poll(() => {
        clock.advance(1_000);
        return watches.length;
      }, SOON)
      .toBe(count);
  };
  return { script, watches, informer, seen, lines, clock, send, asked, watching, stop, running };
}

test("it lists, then watches from there; bookmarks move it on silently", async () => {
  const { script, informer, seen, send, asked, watches, watching } = await start();
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
  expect(asked()).toEqual(["list", "resourceVersion=10", "resourceVersion=20"]);
  expect(informer.get("a")?.metadata.resourceVersion).toBe("12");
  expect(informer.list()).toHaveLength(1);
});

test("a broken stream goes on where it broke", async () => {
  const { watches, send, seen, asked, watching } = await start();
  await watching(1);
  send("ADDED", thing("a", "15"));
  await expect.poll(() => seen, SOON).toEqual(["add a"]);
  watches.at(-1)?.destroy();
  await watching(2);
  send("ADDED", thing("b", "16"));
  await expect.poll(() => seen, SOON).toEqual(["add a", "add b"]);
  expect(asked()).toEqual(["list", "resourceVersion=10", "resourceVersion=15"]);
});

test("an expired resourceVersion leads to a list, and what went missing meanwhile is told", async () => {
  const { script, send, seen, asked, watching } = await start();
  script.list = [thing("a", "1"), thing("b", "2")];
  await watching(1);
  script.list = [thing("b", "2"), thing("c", "40")];
  script.resourceVersion = "50";
  send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
  await watching(2);
  expect(asked()).toEqual(["list", "resourceVersion=10", "list", "resourceVersion=50"]);
  expect(seen.slice(2)).toEqual(["delete a", "add c"]);
});

test.for<[string, Answer]>([
  ["without rights", statusAnswer(403, "Forbidden", "things is forbidden")],
  ["without a valid credential", statusAnswer(401, "Unauthorized", "Unauthorized")],
  ["while the server is troubled", statusAnswer(503, "ServiceUnavailable", "etcd")],
])("%s it keeps what it has, tries on and recovers", async ([, refusal]) => {
  const { script, watches, informer, seen, lines, watching, clock } = await start();
  script.list = [thing("a", "1")];
  await watching(1);
  script.refuse = refusal;
  watches.at(-1)?.destroy();
  await expect
    .poll(() => {
      clock.advance(40_000);
      return lines.filter(({ msg }) => msg === "watch interrupted").length;
    })
    .toBeGreaterThan(3);
  expect(
    lines.filter(({ msg, level }) => msg === "watch interrupted" && level === WARN).length,
    "of the same, one in a while",
  ).toBeLessThan(3);
  expect(informer.get("a")).toBeDefined();
  script.refuse = undefined;
  script.list = [thing("a", "1"), thing("b", "30")];
  await watching(2);
  expect(seen).toEqual(["add a", "add b"]);
  expect(lines.filter(({ msg }) => msg === "watch resumed")).toHaveLength(1);
});

test("a handler that throws is logged and stops nobody", async () => {
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

test("a handler added later is told what there is", async () => {
  const { script, informer } = await start();
  script.list = [thing("a", "1"), thing("b", "1")];
  await informer.synced;
  const late: string[] = [];
  informer.onEvent(({ type, object }) => void late.push(`${type} ${object.metadata.name}`));
  expect(late).toEqual(["add a", "add b"]);
});

test("objects are stored as transformed, and found by index", async () => {
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

test("a watch that always ends at once does not spin", async () => {
  const { script, asked, clock, watching } = await start();
  script.endAtOnce = true;
  await expect.poll(asked, SOON).toEqual(["list", "resourceVersion=10"]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(asked()).toHaveLength(2);
  clock.advance(60_000);
  await expect.poll(() => asked().length, SOON).toBe(3);
  script.endAtOnce = false;
  await watching(1);
});

test("stopped before its first list, it says so to whoever waits", async () => {
  const { script, informer, stop, running } = await start();
  script.refuse = statusAnswer(403, "Forbidden", "no");
  stop.abort(new Error("stopping"));
  await running;
  await expect(informer.synced).rejects.toThrow("stopping");
  expect(informer.hasSynced).toBe(false);
});
