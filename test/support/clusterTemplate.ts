import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import { Client } from "../../pkg/kube/client.ts";
import { eventually } from "./eventually.ts";

/** A ServiceAccount that kube-controller-manager creates soon after its start. A control plane is ready when it exists. */
const FIRST_ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", name: "default", namespace: "default" };
/** A ConfigMap that kube-controller-manager creates in each namespace. */
const ROOT_CA = { apiVersion: "v1", kind: "ConfigMap", name: "kube-root-ca.crt" };
const NAMESPACES = ["default", "kube-node-lease", "kube-public", "kube-system"];

/**
 * Starts and stops an empty control plane, so that others start from its state.
 * @returns its data folder; remove it after use
 * @throws NoBinariesError if the programs are not found
 */
export async function createClusterTemplate(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "olmv1-template-"));
  try {
    const cluster = await startDevCluster({ dataDir, auditLog: false });
    const client = Client.fromKubeConfig(cluster.kubeconfig);
    try {
      await eventually(async () => {
        for (const namespace of NAMESPACES)
          if (!(await client.get({ ...ROOT_CA, namespace }))) throw new Error(`namespace ${namespace} has no ${ROOT_CA.name}`);
      });
      // A start from the template is complete when kube-controller-manager has created the account again.
      process.kill(cluster.pid("kube-controller-manager") ?? 0, "SIGKILL");
      await client.delete(FIRST_ACCOUNT);
    } finally {
      await client.close();
      await cluster.stop();
    }
    return dataDir;
  } catch (err) {
    await rm(dataDir, { recursive: true, force: true });
    throw err;
  }
}
