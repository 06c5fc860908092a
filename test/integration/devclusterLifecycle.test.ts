import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { isAlive } from "../../pkg/devcluster/binaryCache.ts";
import { type DevCluster, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import type { ComponentName } from "../../pkg/devcluster/plan.ts";
import { Client } from "../../pkg/kube/client.ts";
import { describeWithCluster, describeWithPrivateCluster, eventually } from "../support/cluster.ts";

const COMPONENTS: ComponentName[] = ["etcd", "kube-apiserver", "kube-controller-manager", "registry"];
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept", namespace: "default" }, data: { a: "1" } };

describeWithCluster("the lifecycle of a control plane", () => {
  test("a killed control plane leaves no processes, and the next start removes its data", async () => {
    // Uses a temporary folder of its own, because each start removes the data of killed control planes in that folder, and other tests start control
    // planes meanwhile.
    const folder = await mkdtemp(join(tmpdir(), "olmv1-alone-"));
    vi.stubEnv("TMPDIR", folder);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(folder, { recursive: true });
    });
    const script = `
      const { startDevCluster } = await import(${JSON.stringify(join(import.meta.dirname, "../../pkg/devcluster/devCluster.ts"))});
      const cluster = await startDevCluster();
      const pids = ${JSON.stringify(COMPONENTS)}.map((name) => cluster.pid(name));
      console.log(JSON.stringify({ pids, dataDir: cluster.dataDir }));
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(owner.stdout, "data")) as [Buffer];
    const { pids, dataDir } = JSON.parse(line.toString()) as { pids: number[]; dataDir: string };
    expect(pids.map(isAlive)).toEqual([true, true, true, true]);
    owner.kill("SIGKILL");
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false, false, false]));

    expect(existsSync(dataDir)).toBe(true);
    const next = await startDevCluster();
    expect(existsSync(dataDir)).toBe(false);
    await next.stop();
    expect(existsSync(next.dataDir)).toBe(false);
  });

  test("a control plane with a given data folder keeps its objects and certificates after a restart", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "olmv1-kept-"));
    onTestFinished(() => rm(dataDir, { recursive: true }));
    const read = async <T>(cluster: DevCluster, use: (client: Client) => Promise<T>): Promise<T> => {
      const client = Client.fromKubeConfig(cluster.kubeconfig);
      try {
        return await use(client);
      } finally {
        await client.close();
        await cluster.stop();
      }
    };
    await read(await startDevCluster({ dataDir }), (client) => client.create(CONFIG_MAP));
    const authority = await readFile(join(dataDir, "pki", "ca.crt"), "utf8");
    const found = await read(await startDevCluster({ dataDir }), (client) =>
      client.get({ ...CONFIG_MAP, name: "kept", namespace: "default" }),
    );
    expect(found).toMatchObject({ data: { a: "1" } });
    expect(await readFile(join(dataDir, "pki", "ca.crt"), "utf8")).toBe(authority);
  });

  test("a control plane runs binaries of KUBEBUILDER_ASSETS, and stops them", async () => {
    const own = await findBinaries(() => undefined);
    const folder = dirname(own.etcd.path);
    const cluster = await startDevCluster({ binaries: await findBinaries(() => undefined, { env: { KUBEBUILDER_ASSETS: folder } }) });
    expect(cluster.binaries.etcd).toEqual({ path: own.etcd.path, watchesStdin: false });
    const pids = COMPONENTS.map((name) => cluster.pid(name)!);
    await cluster.stop();
    expect(pids.map(isAlive)).toEqual([false, false, false, false]);
  });

  test("the error for a component that cannot start contains the end of its log", async () => {
    const broken = { path: "/bin/false", watchesStdin: false };
    const binaries = await findBinaries(() => undefined);
    const start = startDevCluster({ binaries: { ...binaries, "kube-apiserver": broken } });
    await expect(start).rejects.toThrow(/^kube-apiserver exited with code 1; the end of .*kube-apiserver\.log:/);
  });
});

describeWithPrivateCluster(
  "a private control plane",
  (cluster, dev) => {
    test("a private control plane keeps its objects when the API server or etcd is restarted", async () => {
      await cluster.client.create(CONFIG_MAP);
      for (const name of ["kube-apiserver", "etcd"] as const) {
        const before = dev().pid(name);
        await dev().restart(name);
        expect(dev().pid(name)).not.toBe(before);
        await eventually(async () =>
          expect(await cluster.client.get({ ...CONFIG_MAP, name: "kept", namespace: "default" })).toMatchObject({ data: { a: "1" } }),
        );
      }
    });

    test("DevCluster gives each Pod the outcome that its rule returns", async () => {
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", namespace: await cluster.namespace() },
        spec: { containers: [{ name: "a", image: "a" }] },
      };
      const phase = async (): Promise<string | undefined> => {
        const found = await cluster.client.get({ ...pod, ...pod.metadata });
        const status: { phase?: string } = found?.["status"] ?? {};
        return status.phase;
      };
      await eventually(() => cluster.client.create(pod)); // the ServiceAccount of a new namespace appears late after a restart
      expect(await phase()).toBe("Pending");
      dev().setPodReadiness(() => "Ready");
      await eventually(async () => expect(await phase()).toBe("Running"));
    });
  },
  { podReadiness: () => "Pending", auditLog: false },
);
