import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withCluster } from "../cli/cluster.ts";
import { CommandTerminal } from "../cli/terminal.ts";
import { awaitRollout, type Rollout } from "./rollout.ts";

/** No server listens at its address. */
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: c
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: u, user: {} }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
`;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rollout-"));
  await writeFile(join(folder, "kubeconfig"), KUBECONFIG);
});
afterAll(() => rm(folder, { recursive: true }));

const runAwaitRollout = (terminal: CommandTerminal): Promise<Rollout> =>
  withCluster({ kubeconfig: join(folder, "kubeconfig") }, (client) => awaitRollout(terminal, client, "x", { generation: 1 }, 0));

test("awaitRollout stops at the timeout when the API server does not respond", async () => {
  const terminal = new CommandTerminal({ out: () => undefined, err: () => undefined });
  await expect(runAwaitRollout(terminal)).rejects.toThrow(
    "connect ECONNREFUSED 127.0.0.1:1: the API server at 127.0.0.1:1 does not respond; check that it runs and that the address is correct",
  );
});

test("awaitRollout reports that the controller continues when Ctrl-C aborts a request", async () => {
  let reported = "";
  const signal = AbortSignal.abort(new Error("stopped by SIGINT"));
  const terminal = new CommandTerminal({ out: () => undefined, err: (text) => void (reported += text), signal });
  await expect(runAwaitRollout(terminal)).rejects.toThrow("stopped by SIGINT");
  expect(reported).toBe("stopped waiting; the controller continues: olmv1 describe x\n");
});
