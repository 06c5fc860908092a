import { Client } from "../../pkg/kube/client.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import type { ClusterOptions } from "./cli/clusterOptions.ts";

/** What `work` gives with a client of the cluster, which is closed afterwards. */
export async function withCluster<T>({ kubeconfig, context }: ClusterOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const client = Client.of(Credentials.fromKubeConfig(kubeconfig, context), { userAgent: "olmv1" });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
