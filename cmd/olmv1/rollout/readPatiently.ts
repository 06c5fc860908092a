import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isPassing } from "../../../pkg/kube/errors.ts";
import type { Terminal } from "../cli/terminal.ts";
import { extensionRef } from "../extension/readExtension.ts";

/**
 * An extension that is waited for; `later` where the API server could not answer just now, undefined where there is none of that name.
 * @param isLate there is no later any more.
 * @throws the signal's reason after Ctrl-C, and why the API server did not answer.
 */
export async function readPatiently(
  { signal }: Pick<Terminal, "signal">,
  client: Client,
  name: string,
  isLate: boolean,
): Promise<ClusterExtension | "later" | undefined> {
  try {
    return await client.get<ClusterExtension>(extensionRef(name), { signal });
  } catch (err) {
    signal.throwIfAborted();
    if (isPassing(err) && !isLate) return "later";
    throw err;
  }
}
