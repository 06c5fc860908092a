import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LoopbackCluster } from "../../test/support/loopbackCluster.ts";

/** Starts `olmv1` whose standard output or standard error has no reader. */
function startWithClosed(stream: "stdout" | "stderr", args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], {
    stdio: ["ignore", stream === "stdout" ? "pipe" : "ignore", stream === "stderr" ? "pipe" : "ignore"],
  });
  child[stream]?.destroy();
  return child;
}

async function waitForExit(child: ChildProcess): Promise<[code: number | null, signal: NodeJS.Signals | null]> {
  return (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
}

test("olmv1 exits with the code of its command when standard error is closed", async () => {
  expect(await waitForExit(startWithClosed("stderr", ["unknown"]))).toEqual([2, null]);
});

test.for(["stdout", "stderr"] as const)("olmv1 uninstall continues to its end when %s is closed", async (stream) => {
  const labels = { "olm.operatorframework.io/created-for": "p" };
  const accounts = ["gone", "left"].map((name) => ({ metadata: { name, namespace: "ns", uid: name, labels } }));
  await using cluster = await LoopbackCluster.start(({ method, url }) => {
    if (method === "DELETE") return {};
    if (url.startsWith("/api/v1/serviceaccounts")) return { json: { items: accounts } };
    return url === "/api/v1/namespaces/ns/serviceaccounts/left" ? { json: accounts[1] } : undefined;
  });
  const args = ["uninstall", "p", "--yes", "--timeout", "1s", "--kubeconfig", cluster.kubeconfig];
  // 1: after it has printed that the first object is deleted, it waits for the second one, which still exists
  expect(await waitForExit(startWithClosed(stream, args))).toEqual([1, null]);
  expect(cluster.api.log.filter((line) => line.startsWith("DELETE "))).toHaveLength(2);
});

test("olmv1 events -w ends when standard output is closed", async () => {
  const metadata = { name: "e", namespace: "default", resourceVersion: "2" };
  const event = { apiVersion: "v1", kind: "Event", metadata, reason: "Installed" };
  await using cluster = await LoopbackCluster.start(({ url }) =>
    url.includes("watch=true") ? (response) => void response.write(`${JSON.stringify({ type: "ADDED", object: event })}\n`) : undefined,
  );
  expect(await waitForExit(startWithClosed("stdout", ["events", "p", "-w", "--kubeconfig", cluster.kubeconfig]))).toEqual([0, null]);
});
