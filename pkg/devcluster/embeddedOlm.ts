import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../kube/client.ts";
import type { PrintLine } from "./binaries.ts";
import { startDevCluster } from "./devCluster.ts";
import { type DevEndpoints, linkPrograms, startDevServers } from "./devServers.ts";

/** Only a checkout contains the CRDs and the sources of the control plane. */
const CONFIG = join(import.meta.dirname, "../../config/crd");

/** Returns whether this program is in a checkout, which a development environment needs. */
export function isCheckout(): boolean {
  return existsSync(CONFIG);
}

/** An embedded control plane with the servers and a registry, without any catalog. All are on loopback; Pods are simulated. */
export interface EmbeddedOlm extends DevEndpoints {
  /** Folder for the PATH, with olmv1 and kubectl. */
  readonly bin: string;
  /** Why a server ended unexpectedly, with its last log lines; undefined while all servers run. */
  getFailure(): string | undefined;
  /** Ends all processes and removes all files. Further calls do nothing. */
  stop(): Promise<void>;
}

/**
 * Starts an embedded control plane and the servers, which takes about ten seconds. If a part fails, stops the parts already started.
 * @param print reports the progress of a build
 * @throws Error if this program is not in a checkout, or if a part does not start
 */
export async function startEmbeddedOlm(print: PrintLine): Promise<EmbeddedOlm> {
  if (!isCheckout())
    throw new Error("cannot start an embedded control plane: this program is not in a checkout of the sources. Clone the repository first");
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  let failure: string | undefined;
  try {
    const workDir = await mkdtemp(join(tmpdir(), "olmv1-embedded-"));
    cleanups.push(() => rm(workDir, { recursive: true, force: true, maxRetries: 3 }));
    const cluster = await startDevCluster({ print, auditLog: false });
    cleanups.push(() => cluster.stop());
    const admin = Client.fromKubeConfig(cluster.kubeconfig);
    cleanups.push(() => admin.close());
    const kubectl = cluster.binaries.kubectl?.path;
    const endpoints: DevEndpoints = {
      kubeconfig: cluster.kubeconfig,
      registry: cluster.registry.host,
      registriesConf: join(workDir, "registries.conf"),
      kubectl,
    };
    const servers = await startDevServers(admin, endpoints, workDir, { onExit: (text) => void (failure ??= text) });
    cleanups.push(() => servers.stop());
    return { ...endpoints, bin: await linkPrograms(workDir, kubectl), getFailure: () => failure, stop };
  } catch (err) {
    await stop();
    throw err;
  }
}
