import { Client } from "../../pkg/kube/client.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import type { ClusterOptions } from "./cli/clusterOptions.ts";
import { clusterFault } from "./clusterFault.ts";

/** What the client's observer hears of a request that got no answer. */
const NO_ANSWER = "<error>";

/** What `work` gives with a client of the cluster, which is closed afterwards. @throws what `work` throws, with what somebody can do about it. */
export async function withCluster<T>({ kubeconfig, context }: ClusterOptions, work: (client: Client) => Promise<T>): Promise<T> {
  let unanswered: string | undefined;
  const observe = ({ code, host }: { code: string; host: string }): void => void (unanswered = code === NO_ANSWER ? host : undefined);
  const client = Client.of(Credentials.fromKubeConfig(kubeconfig, context), { userAgent: "olmv1", observe });
  try {
    return await work(client);
  } catch (err) {
    throw clusterFault(err, unanswered);
  } finally {
    await client.close();
  }
}
