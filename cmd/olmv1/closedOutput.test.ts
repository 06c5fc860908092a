import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "../../test/support/loopbackApi.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";

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

const RESOURCES: Readonly<Record<string, readonly object[]>> = {
  "/api/v1": [
    { name: "events", kind: "Event", namespaced: true },
    { name: "namespaces", kind: "Namespace", namespaced: false },
    { name: "serviceaccounts", kind: "ServiceAccount", namespaced: true },
  ],
  "/apis/olm.operatorframework.io/v1": [{ name: "clusterextensions", kind: "ClusterExtension", namespaced: false }],
  "/apis/rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map((kind) => ({
    name: `${kind.toLowerCase()}s`,
    kind,
    namespaced: !kind.startsWith("Cluster"),
  })),
};

/** Starts an API server. `answer` responds to requests for objects; default: empty lists, and objects that do not exist. */
async function startApi(answer: (request: SeenRequest) => Answer | undefined): Promise<LoopbackApi> {
  return LoopbackApi.start((request) => {
    const path = request.url.split("?")[0] ?? "";
    const resources = RESOURCES[path];
    if (resources) return { json: { resources } };
    const own = answer(request);
    if (own) return own;
    const isList = Object.values(RESOURCES).some((kinds) => kinds.some((kind) => path.endsWith(`/${(kind as { name: string }).name}`)));
    return isList ? { json: { items: [], metadata: { resourceVersion: "1" } } } : statusAnswer(404, "NotFound", "not found");
  });
}

test.for(["stdout", "stderr"] as const)("olmv1 uninstall continues to its end when %s is closed", async (stream) => {
  using folder = new TempFolder();
  const labels = { "olm.operatorframework.io/created-for": "p" };
  const accounts = ["gone", "left"].map((name) => ({ metadata: { name, namespace: "ns", uid: name, labels } }));
  await using api = await startApi(({ method, url }) => {
    if (method === "DELETE") return {};
    if (url.startsWith("/api/v1/serviceaccounts")) return { json: { items: accounts } };
    return url === "/api/v1/namespaces/ns/serviceaccounts/left" ? { json: accounts[1] } : undefined;
  });
  const kubeconfig = join(folder.write("home", { kubeconfig: api.kubeconfig }), "kubeconfig");
  const args = ["uninstall", "p", "--yes", "--timeout", "1s", "--kubeconfig", kubeconfig];
  // 1: after it has printed that the first object is deleted, it waits for the second one, which still exists
  expect(await waitForExit(startWithClosed(stream, args))).toEqual([1, null]);
  expect(api.log.filter((line) => line.startsWith("DELETE "))).toHaveLength(2);
});

test("olmv1 events -w ends when standard output is closed", async () => {
  using folder = new TempFolder();
  const metadata = { name: "e", namespace: "default", resourceVersion: "2" };
  const event = { apiVersion: "v1", kind: "Event", metadata, reason: "Installed" };
  await using api = await startApi(({ url }) =>
    url.includes("watch=true") ? (response) => void response.write(`${JSON.stringify({ type: "ADDED", object: event })}\n`) : undefined,
  );
  const kubeconfig = join(folder.write("home", { kubeconfig: api.kubeconfig }), "kubeconfig");
  expect(await waitForExit(startWithClosed("stdout", ["events", "p", "-w", "--kubeconfig", kubeconfig]))).toEqual([0, null]);
});
