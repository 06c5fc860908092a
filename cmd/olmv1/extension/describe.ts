import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { matchingCatalogs } from "../../../pkg/operatorcontroller/steps/resolveBundle.ts";
import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { isServed } from "../clusterCatalog/catalogState.ts";
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
    const [account, objects, releases, events, catalogs] = await Promise.all([
      accountOf(client, extension),
      inventoryHealth(client, extension, now),
      orWhyNot(releaseRows(client, extension, options.systemNamespace)),
      orWhyNot(eventsOf(client, extension.metadata).then((found) => found.events)),
      orWhyNot(failingCatalogs(client, extension)),
    ]);
    terminal.out(describeText(terminal, { extension, account, objects, releases, events, catalogs }, now));
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

/** The catalogs that the extension selects and that are not served as their spec asks, by name. */
async function failingCatalogs(client: Pick<Client, "list">, { spec }: ClusterExtension): Promise<ClusterCatalog[]> {
  const source = spec.source.catalog;
  if (!source) return [];
  const { items } = await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG });
  const selected = matchingCatalogs({ list: () => items }, source);
  return selected.filter((catalog) => catalog.spec.availabilityMode !== "Unavailable" && !isServed(catalog));
}

/** What was found, or why it could not be read: one right that is missing hides only what it is about. */
async function orWhyNot<T>(found: Promise<T>): Promise<T | string> {
  try {
    return await found;
  } catch (err) {
    return messageOf(err);
  }
}
