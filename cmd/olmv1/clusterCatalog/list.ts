import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../../pkg/api/constants.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { compareText, similarName } from "../../../pkg/text/compare.ts";
import type { ClusterOptions } from "../cli/clusterOptions.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { catalogName, catalogRef } from "./catalogObject.ts";
import { catalogTable, catalogText } from "./catalogText.ts";

/** `olmv1 catalog list`. */
export async function list(terminal: Terminal, options: ClusterOptions & { output: Output }): Promise<void> {
  await withCluster(options, async (client) => {
    const { items } = await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal: terminal.signal });
    const catalogs = items.toSorted(
      (a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || compareText(a.metadata.name, b.metadata.name),
    );
    if (catalogs.length === 0) terminal.err("the cluster has no ClusterCatalog; olmv1 catalog add NAME IMAGE adds one\n");
    const text = (isWide: boolean) => () => (catalogs.length === 0 ? "" : catalogTable(terminal, catalogs, Date.now(), isWide));
    await print(terminal, options.output, {
      data: { apiVersion: "v1", kind: "List", items: catalogs },
      text: text(false),
      wide: text(true),
      names: () => catalogs.map(({ metadata }) => catalogName(metadata.name)),
    });
  });
}

/** `olmv1 catalog get`. */
export async function get(terminal: Terminal, name: string, options: ClusterOptions & { output: Output }): Promise<void> {
  await withCluster(options, async (client) => {
    const catalog = await readCatalog(client, name, terminal.signal);
    await print(terminal, options.output, {
      data: catalog,
      text: () => catalogText(terminal, catalog, Date.now()),
      wide: () => catalogTable(terminal, [catalog], Date.now(), true),
      names: () => [catalogName(name)],
    });
  });
}

/** @throws Error where there is no catalog of that name, with one that is written nearly so. */
export async function readCatalog(client: Client, name: string, signal: AbortSignal): Promise<ClusterCatalog> {
  const catalog = await client.get<ClusterCatalog>(catalogRef(name), { signal });
  if (catalog) return catalog;
  const others = await client
    .list({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { metadataOnly: true, signal })
    .catch(() => undefined);
  const similar = similarName(name, others?.items.map(({ metadata }) => metadata.name) ?? []);
  const advice = similar === undefined ? "olmv1 catalog list lists those there are" : `did you mean ${goQuote(similar)}?`;
  throw new Error(`there is no ClusterCatalog ${goQuote(name)}; ${advice}`);
}
