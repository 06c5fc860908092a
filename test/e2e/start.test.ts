import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { clusterAvailable, describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Lines of the output, in this order. */
const TOUR: RegExp[] = [
  /^cluster +API server https:\/\/127\.0\.0\.1:\d+ is ready/m,
  /^done +after \d+\.\d s/,
  /^push +127\.0\.0\.1:\d+\/hello-operator-bundle:v1\.0\.0 \(sha256:/,
  /^push +127\.0\.0\.1:\d+\/hello-catalog:latest \(sha256:/,
  /^server +catalogd, operator-controller and permission-manager are ready/,
  /^user +applied ClusterCatalog hello-catalog/,
  /^status +hello-catalog: Serving=True Available/,
  /^catalog +hello-catalog: image 127\.0\.0\.1:\d+\/hello-catalog:latest → .*sha256:/,
  /^catalog +hello-catalog: 1 package, 2 channels, 3 bundles, 1 deprecation/,
  /^user +applied ClusterExtension hello/,
  /^resolve +.*bundle "hello-operator\.v1\.0\.0" .*1\.0\.0/,
  /^apply +created +ServiceAccount hello-operator-system\//,
  /^apply +created +CustomResourceDefinition greetings\.hello\.example\.com/,
  /^apply +created +Deployment hello-operator-system\//,
  /^status +.*Installed=True Succeeded: Installed bundle 127\.0\.0\.1:\d+\/hello-operator-bundle:v1\.0\.0 successfully/,
  /^status +.*BundleDeprecated=True Deprecated: /,
  /^status +hello: Ready=True Succeeded/,
  /^resolve +.*bundle "hello-operator\.v1\.2\.0".*\[upgrade edge: skips in channel candidate\]/,
  /^apply +created +PodDisruptionBudget hello-operator-system\//,
  /^apply +updated +Deployment hello-operator-system\//,
  /^apply +deleted +ConfigMap hello-operator-system\/hello-operator-phrases/,
  /^status +.*Installed=True Succeeded: Installed bundle .*:v1\.2\.0 successfully/,
  /^apply +deleted +Deployment hello-operator-system\//,
  /^apply +deleted +CustomResourceDefinition greetings\.hello\.example\.com/,
  /^status +hello: removed/,
  /^status +no objects remain/,
  /^Done: installed, upgraded and removed/,
];

let started: ChildProcess | undefined;

function npmStart(args: readonly string[]): { child: ChildProcess; output: () => string } {
  const { KUBECONFIG: _, ...env } = process.env;
  const child = spawn("npm", ["start", "--", ...args], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  started = child;
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  return { child, output: () => stripVTControlCharacters(text) };
}

/** Returns all living descendants of a process, from /proc. */
function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // The process has ended meanwhile.
    }
  }
  const children = (pid: number): number[] =>
    [...parents].filter(([, parent]) => parent === pid).flatMap(([child]) => [child, ...children(child)]);
  return children(root);
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describeWithPrivateCluster("npm start on an existing cluster", (cluster) => {
  test("npm start --kubeconfig uses the cluster of the kubeconfig and starts no control plane", async () => {
    const { child, output } = npmStart(["--once", "--kubeconfig", cluster.kubeconfig]);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    expect(output()).toContain(`Using the cluster of ${cluster.kubeconfig}`);
    expect(output()).not.toMatch(TOUR[0]!);
    expect(output()).toContain("Done: installed, upgraded and removed");
    expect(code).toBe(0);
    const { items } = await cluster.client.list(
      { apiVersion: "v1", kind: "Secret" },
      { namespace: "olmv1-system", labelSelector: "type=index" },
    );
    expect(items).toEqual([]);
    const left = await cluster.client.list({ apiVersion: "olm.operatorframework.io/v1", kind: "ClusterCatalog" });
    expect(left.items).toEqual([]);
    const roles = await cluster.client.list({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" });
    expect(roles.items.map(({ metadata }) => metadata.name).filter((name) => name.includes("hello"))).toEqual([]);
  });
});

describe.skipIf(!clusterAvailable())("npm start", () => {
  afterEach(() => {
    started?.kill("SIGTERM");
  });

  test("npm start --once installs, upgrades and uninstalls the sample, prints each step, and exits 0", async () => {
    const { child, output } = npmStart(["--once"]);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    const lines = output().split("\n");
    let from = 0;
    for (const pattern of TOUR) {
      const found = lines.findIndex((line, index) => index >= from && pattern.test(line));
      expect(found, `${pattern} after line ${from} of:\n${output()}`).toBeGreaterThanOrEqual(0);
      from = found + 1;
    }
    expect(code).toBe(0);
  });

  test.skipIf(process.platform !== "linux")("npm start leaves no running processes when npm is killed", async () => {
    const { child, output } = npmStart([]);
    await eventually(() => expect(output()).toContain("olmv1 uninstall hello"), { timeoutMs: 120_000 });
    const family = descendants(child.pid ?? 0);
    expect(family.length).toBeGreaterThan(5);
    child.kill("SIGKILL");
    await eventually(() => expect(family.filter(isAlive)).toEqual([]));
  });
});
