import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { openConnections } from "../http/connections.ts";
import type { Connections } from "../http/types.ts";
import { Client } from "../kube/client.ts";
import type { Binaries } from "./binaries.ts";
import { ensureCertificates } from "./certificates.ts";
import type { ComponentSpec } from "./component.ts";
import { AUDIT_POLICY, buildApiServerFlags, buildControllerManagerFlags, buildEtcdFlags, renderRegistryConfig } from "./flags.ts";
import { renderKubeconfig } from "./kubeconfig.ts";
import { findFreePorts } from "./processes.ts";
import { isRegistryReady } from "./registryServer.ts";

/** The servers of a control plane. */
export type ComponentName = "etcd" | "kube-apiserver" | "kube-controller-manager" | "registry";

/** A control plane that is ready to start, with its files, ports and command lines. */
export interface ClusterPlan {
  readonly specs: Readonly<Record<ComponentName, ComponentSpec>>;
  readonly server: string;
  readonly registryHost: string;
  readonly kubeconfig: string;
  /** Empty if disabled. */
  readonly auditLog: string;
  readonly logs: string;
  /** Client of the API server as `system:pod-simulation`. */
  readonly keeper: Client;
  /** Compacts etcd to the current state. */
  readonly compact: () => Promise<void>;
  /** Closes the connections of `keeper` and of the health probes. */
  readonly close: () => Promise<void>;
}

/**
 * Chooses ports, and writes certificates, kubeconfigs and configuration files to `dataDir`; reuses
 * files of an earlier run.
 */
export async function planCluster(binaries: Binaries, dataDir: string, withAuditLog: boolean): Promise<ClusterPlan> {
  const logs = join(dataDir, "logs");
  for (const folder of [logs, join(dataDir, "registry")]) await mkdir(folder, { recursive: true });
  const [[etcd = 0, etcdPeer = 0, apiServer = 0, registry = 0], certificates] = await Promise.all([
    findFreePorts(4),
    ensureCertificates(join(dataDir, "pki")),
  ]);
  const server = `https://127.0.0.1:${apiServer}`;
  const registryHost = `127.0.0.1:${registry}`;
  const kubeconfig = join(dataDir, "kubeconfig");
  const keeperKubeconfig = join(dataDir, "pod-simulation.kubeconfig");
  const controllerManagerKubeconfig = join(dataDir, "controller-manager.kubeconfig");
  const auditLog = withAuditLog ? join(dataDir, "audit.log") : "";
  const ports = { etcd, etcdPeer, apiServer, registry };
  const input = { dataDir, files: certificates.files, ports, auditLog: auditLog || undefined, controllerManagerKubeconfig };

  const { ca, admin, controllerManager, podSimulation, etcdClient } = certificates;
  const registryFile = join(dataDir, "registry.yaml");
  const texts = {
    [kubeconfig]: renderKubeconfig({ server, ca, user: "admin", identity: admin }),
    [keeperKubeconfig]: renderKubeconfig({ server, ca, user: "pod-simulation", identity: podSimulation }),
    [controllerManagerKubeconfig]: renderKubeconfig({ server, ca, user: "controller-manager", identity: controllerManager }),
    [join(dataDir, "audit-policy.yaml")]: AUDIT_POLICY,
    [registryFile]: renderRegistryConfig(input),
  };
  for (const [path, text] of Object.entries(texts)) await writeFile(path, text, { mode: 0o600 });

  const keeper = Client.fromKubeConfig(keeperKubeconfig);
  const etcdConnections = openConnections({ tls: { ca, ...etcdClient }, keepAliveMs: 4_000 });
  const spec = (name: ComponentName, args: readonly string[], ready: ComponentSpec["ready"]): ComponentSpec => ({
    name,
    binary: binaries[name],
    args,
    logFile: join(logs, `${name}.log`),
    ready,
  });
  return {
    specs: {
      etcd: spec("etcd", buildEtcdFlags(input), (signal) => answers(`https://127.0.0.1:${etcd}/health`, signal, etcdConnections)),
      "kube-apiserver": spec("kube-apiserver", buildApiServerFlags(input), async (signal) => {
        const { statusCode, body } = await keeper.request("GET", "/readyz", { signal });
        await body.dump();
        return statusCode === 200;
      }),
      "kube-controller-manager": spec("kube-controller-manager", buildControllerManagerFlags(input), async (signal) => {
        return (
          (await keeper.get({ apiVersion: "v1", kind: "ServiceAccount", name: "default", namespace: "default" }, { signal })) !== undefined
        );
      }),
      registry: spec("registry", ["serve", registryFile], (signal) => isRegistryReady(registryHost, signal)),
    },
    server,
    registryHost,
    kubeconfig,
    auditLog,
    logs,
    keeper,
    compact: async () => {
      const { header } = (await ask(
        `https://127.0.0.1:${etcd}/v3/kv/range`,
        { key: "Lw==", count_only: true },
        etcdConnections,
      )) as EtcdHealth;
      await ask(`https://127.0.0.1:${etcd}/v3/kv/compaction`, { revision: header.revision, physical: true }, etcdConnections);
    },
    close: async () => {
      await keeper.close();
      await etcdConnections.destroy();
    },
  };
}

async function answers(url: string, signal: AbortSignal, connections: Connections): Promise<boolean> {
  const { statusCode, body } = await connections.request(new URL(url), { method: "GET", signal });
  await body.dump();
  return statusCode === 200;
}

interface EtcdHealth {
  header: { revision: string };
}

/**
 * Calls etcd's gRPC interface through its HTTP gateway. @throws Error with etcd's response if it
 * fails.
 */
async function ask(url: string, message: object, connections: Connections): Promise<unknown> {
  const { statusCode, body } = await connections.request(new URL(url), { method: "POST", body: JSON.stringify(message) });
  const text = await textOf(body);
  if (statusCode !== 200) throw new Error(`etcd responded with ${statusCode} to ${url}: ${text}`);
  return JSON.parse(text);
}
