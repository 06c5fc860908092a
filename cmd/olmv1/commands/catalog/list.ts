import type { ClusterCatalog } from "../../../../pkg/api/clusterCatalog.ts";
import { isKstatusCondition } from "../../../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG, LABEL_METADATA_NAME } from "../../../../pkg/api/constants.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { formatAge } from "../../../../pkg/golang/time.ts";
import { formatCatalogName, getCatalogRef } from "../../../../pkg/installer/catalogObject.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { describeCatalogState } from "../../../../pkg/rollout/catalogState.ts";
import { compareText, findSimilarName } from "../../../../pkg/text/compare.ts";
import { withCluster } from "../../cli/cluster.ts";
import type { ClusterOptions } from "../../cli/options.ts";
import { type ObjectOutputOptions, print, toPrintableObject } from "../../cli/output.ts";
import { type Cell, formatDetails, formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Minimum width of -o wide. */
const WIDE = 320;

type Screen = Pick<Terminal, "width" | "colour">;

/** Formats catalogs as a table. @param now milliseconds since the epoch. */
export function formatCatalogTable(terminal: Screen, catalogs: readonly ClusterCatalog[], now: number, isWide: boolean): string {
  const head = [
    "NAME",
    "STATE",
    "PRIORITY",
    "IMAGE",
    ...(isWide ? ["PACKAGES", "DIGEST", "POLL", "UNPACKED", "PAGE", "LABELS"] : []),
    "AGE",
  ];
  const rows = catalogs.map((catalog): Cell[] => {
    const { metadata, spec } = catalog;
    return [
      { text: metadata.name, mood: "strong" },
      describeCatalogState(catalog),
      String(spec.priority ?? 0),
      spec.source.image?.ref ?? "",
      ...(isWide ? wideCells(catalog, now) : []),
      formatAge(metadata.creationTimestamp, now),
    ];
  });
  return formatTable(isWide ? { colour: terminal.colour, width: Math.max(terminal.width, WIDE) } : terminal, head, rows);
}

/** Formats the details of a catalog. @param now milliseconds since the epoch. */
export function formatCatalogDetails(terminal: Screen, catalog: ClusterCatalog, now: number): string {
  const { metadata, spec, status } = catalog;
  return formatDetails(terminal, [
    ["Name", { text: metadata.name, mood: "strong" }],
    ["State", describeCatalogState(catalog)],
    ["Image", spec.source.image?.ref],
    ["Content", status?.resolvedSource?.image?.ref],
    ["Unpacked", status?.lastUnpacked === undefined ? undefined : formatUnpacked(status.lastUnpacked, now)],
    ["Polled", formatPoll(catalog)],
    ["Priority", String(spec.priority ?? 0)],
    ["Labels", listLabels(catalog)],
    ["Address", status?.urls?.base],
    ["Page", getPageAddress(catalog)],
    ["Age", formatAge(metadata.creationTimestamp, now)],
    ...(status?.conditions ?? [])
      .filter(({ type }) => !isKstatusCondition(type))
      .map(({ type, status: is, reason, message }) => [type, `${is} (${reason}): ${message}`] as const),
  ]);
}

function wideCells(catalog: ClusterCatalog, now: number): Cell[] {
  const { status } = catalog;
  return [
    String(status?.content?.packages ?? ""),
    readDigest(catalog),
    formatPoll(catalog),
    formatUnpacked(status?.lastUnpacked, now),
    getPageAddress(catalog) ?? "",
    listLabels(catalog).join(","),
  ];
}

/** Returns the URL of catalogd's page that lists its catalogs; undefined if the catalog is not served. */
function getPageAddress({ status }: Pick<ClusterCatalog, "status">): string | undefined {
  const base = status?.urls?.base;
  return base !== undefined && URL.canParse(base) ? new URL("/ui", base).href : undefined;
}

function readDigest({ status }: ClusterCatalog): string {
  return /@(.*)$/.exec(status?.resolvedSource?.image?.ref ?? "")?.[1] ?? "";
}

function formatPoll({ spec }: ClusterCatalog): string {
  const minutes = spec.source.image?.pollIntervalMinutes;
  return minutes === undefined ? "once" : `every ${minutes}m`;
}

function formatUnpacked(at: string | undefined, now: number): string {
  return at === undefined ? "" : `${formatAge(at, now)} ago`;
}

/** Returns the labels, except the one that catalogd sets. */
function listLabels({ metadata }: ClusterCatalog): string[] {
  return Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => (key === LABEL_METADATA_NAME ? [] : [`${key}=${value}`]));
}

/** Runs `olmv1 catalog list`. */
export async function listCatalogs(terminal: Terminal, options: ClusterOptions & ObjectOutputOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const { items } = await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal: terminal.signal });
    const catalogs = items.toSorted(
      (a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || compareText(a.metadata.name, b.metadata.name),
    );
    if (catalogs.length === 0) terminal.err("the cluster has no ClusterCatalog; add one with olmv1 catalog add NAME IMAGE\n");
    const text = (isWide: boolean) => () => (catalogs.length === 0 ? "" : formatCatalogTable(terminal, catalogs, Date.now(), isWide));
    await print(terminal, options.output, {
      data: { apiVersion: "v1", kind: "List", items: catalogs.map((one) => toPrintableObject(one, options)) },
      text: text(false),
      wide: text(true),
      names: () => catalogs.map(({ metadata }) => formatCatalogName(metadata.name)),
    });
  });
}

/** Runs `olmv1 catalog get`. */
export async function getCatalog(terminal: Terminal, name: string, options: ClusterOptions & ObjectOutputOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const catalog = await readCatalog(client, name, terminal.signal);
    await print(terminal, options.output, {
      data: toPrintableObject(catalog, options),
      text: () => formatCatalogDetails(terminal, catalog, Date.now()),
      wide: () => formatCatalogTable(terminal, [catalog], Date.now(), true),
      names: () => [formatCatalogName(name)],
    });
  });
}

/** Reads a ClusterCatalog. @throws Error with a similar name if it does not exist. */
export async function readCatalog(client: Client, name: string, signal: AbortSignal): Promise<ClusterCatalog> {
  const catalog = await client.get<ClusterCatalog>(getCatalogRef(name), { signal });
  if (catalog) return catalog;
  const others = await client
    .list({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { metadataOnly: true, signal })
    .catch(() => undefined);
  const similar = findSimilarName(name, others?.items.map(({ metadata }) => metadata.name) ?? []);
  const advice = similar === undefined ? "run olmv1 catalog list to list all catalogs" : `did you mean ${goQuote(similar)}?`;
  throw new Error(`ClusterCatalog ${goQuote(name)} not found; ${advice}`);
}
