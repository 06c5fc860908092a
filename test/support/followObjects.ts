import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";

/** What to follow: a kind, and options of list and watch. */
interface Followed {
  readonly apiVersion: string;
  readonly kind: string;
  readonly selection: object;
}

/**
 * Calls `see` for each current object, and then for each write, until the returned function is called. A failing watch is not an error, because the
 * control plane may stop first.
 */
export async function followObjects(
  client: Client,
  { selection, ...gvk }: Followed,
  see: (object: KubeObject, isDeleted: boolean) => void,
): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const { items, resourceVersion } = await client.list(gvk, selection);
  for (const item of items) see(item, false);
  const follow = async (): Promise<void> => {
    for await (const { type, object } of client.watch(gvk, { ...selection, resourceVersion, signal: stop.signal }))
      if (type !== "BOOKMARK") see(object, type === "DELETED");
  };
  const following = follow().catch(() => undefined);
  return async () => {
    stop.abort();
    await following;
  };
}
