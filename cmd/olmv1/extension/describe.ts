import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { type Described, describeText } from "./describeText.ts";
import { eventsOf } from "./eventRecord.ts";
import { inventoryHealth } from "./inventoryHealth.ts";
import { readExtension } from "./readExtension.ts";
import { releaseRows } from "./releaseRow.ts";

/** `olmv1 describe`. */
export async function describe(terminal: Terminal, name: string, options: ReleaseOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const now = Date.now();
    const [account, objects, releases, events] = await Promise.all([
      accountOf(client, extension),
      inventoryHealth(client, extension, now),
      orWhyNot(releaseRows(client, extension, options.systemNamespace)),
      orWhyNot(eventsOf(client, name).then((found) => found.events)),
    ]);
    terminal.out(describeText(terminal, { extension, account, objects, releases, events }, now));
  });
}

async function accountOf(client: Pick<Client, "get">, { metadata, spec }: ClusterExtension): Promise<Described["account"]> {
  const name = spec.serviceAccount?.name;
  if (name === undefined) return "missing";
  try {
    const found = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace: spec.namespace, name }, { metadataOnly: true });
    if (!found) return "missing";
    return found.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name ? "made" : "there";
  } catch (err) {
    return { unknown: messageOf(err) };
  }
}

/** What was found, or why it could not be read: one right that is missing hides only what it is about. */
async function orWhyNot<T>(found: Promise<T>): Promise<T | string> {
  try {
    return await found;
  } catch (err) {
    return messageOf(err);
  }
}
