import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { LoopbackApi, type SeenRequest, statusAnswer } from "../../../test/support/loopbackApi.ts";
import { OlmApi } from "../../../test/support/testConsole.ts";
import { Client } from "../../kube/client.ts";
import { createLogger } from "../../telemetry/log.ts";
import { ClusterWatches } from "./clusterWatches.ts";

/** Time in which a watch retries several times, in milliseconds. */
const OBSERVED_MS = 2_500;

test.for<[what: string, isRejected: (request: SeenRequest) => boolean, status: number]>([
  ["rejects all requests", () => true, 401],
  ["only rejects reads of extensions and catalogs", ({ url }) => url.startsWith("/apis/olm."), 503],
])("ClusterWatches is disconnected while the API server %s, and current again when a watch resumes", async ([, isRejected, status]) => {
  const olm = new OlmApi();
  let isBroken = false;
  await using api = await LoopbackApi.start((request) =>
    isBroken && isRejected(request) ? statusAnswer(status, "Unavailable", "rejected") : olm.answer(request),
  );
  await using stack = new AsyncDisposableStack();
  const client = stack.adopt(Client.of(api.credentials()), (one) => one.close());
  const { state } = stack.use(new ClusterWatches(client, createLogger({ component: "test", level: "silent" })));
  const states = (): string[] => (["extensions", "catalogs"] as const).map((table) => state.getWatch(table).state);
  await eventually(() => expect([states(), olm.watchCount]).toEqual([["current", "current"], 1]));
  isBroken = true;
  olm.endWatches();
  await eventually(() => expect(states()).toEqual(["disconnected", "disconnected"]));
  const seen = new Set<string>();
  for (const end = Date.now() + OBSERVED_MS; Date.now() < end; await sleep(20)) for (const one of states()) seen.add(one);
  expect([...seen]).toEqual(["disconnected"]);
  isBroken = false;
  await eventually(() => expect(states()).toEqual(["current", "current"]));
});

test("ClusterWatches is current again when the API server accepts a watch that has no events", async () => {
  const olm = new OlmApi();
  await using api = await LoopbackApi.start(olm.answer);
  await using stack = new AsyncDisposableStack();
  const client = stack.adopt(Client.of(api.credentials()), (one) => one.close());
  const { state } = stack.use(new ClusterWatches(client, createLogger({ component: "test", level: "silent" })));
  await eventually(() => expect([state.getWatch("extensions").state, olm.watchCount]).toEqual(["current", 1]));
  olm.endWatches();
  await eventually(() => expect(state.getWatch("extensions").state).toBe("disconnected"));
  await eventually(() => expect(state.getWatch("extensions").state).toBe("current"));
  const lists = api.requests.filter(({ url }) => url.includes("/clusterextensions") && !url.includes("watch="));
  expect(lists).toHaveLength(1);
});
