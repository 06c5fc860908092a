import { expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { LoopbackApi } from "../../../test/support/loopbackApi.ts";
import { OlmApi } from "../../../test/support/testConsole.ts";
import { Client } from "../../kube/client.ts";
import { createLogger } from "../../telemetry/log.ts";
import { ClusterIdentity } from "./clusterIdentity.ts";

test("ClusterIdentity is not current when the user may not list extensions any more, also after the API server rejected the watches", async () => {
  const olm = new OlmApi();
  olm.add("argocd");
  olm.users.set("alice-token", { name: "alice", mayList: true });
  await using api = await LoopbackApi.start(olm.answer);
  await using stack = new AsyncDisposableStack();
  const client = stack.adopt(Client.of(api.credentials({ token: "alice-token" })), (one) => one.close());
  const identity = stack.use(new ClusterIdentity(client, createLogger({ component: "test", level: "silent" })));
  const { state } = identity.watches;
  const states = (): string[] => (["extensions", "catalogs"] as const).map((table) => state.getWatch(table).state);
  await eventually(() => expect(states()).toEqual(["current", "current"]));
  expect(await identity.isCurrent()).toBe(true);
  olm.users.set("alice-token", { name: "alice", mayList: false });
  olm.endWatches();
  await eventually(() => expect(states()).toEqual(["forbidden", "forbidden"]));
  expect(state.extensions.list()).toHaveLength(1);
  expect(await identity.isCurrent()).toBe(false);
});

test("ClusterIdentity is current when the user could never list extensions", async () => {
  const olm = new OlmApi();
  olm.users.set("bob-token", { name: "bob", mayList: false });
  await using api = await LoopbackApi.start(olm.answer);
  await using stack = new AsyncDisposableStack();
  const client = stack.adopt(Client.of(api.credentials({ token: "bob-token" })), (one) => one.close());
  const identity = stack.use(new ClusterIdentity(client, createLogger({ component: "test", level: "silent" })));
  await eventually(() => expect(identity.watches.state.getWatch("extensions").state).toBe("forbidden"));
  expect(await identity.isCurrent()).toBe(true);
});
