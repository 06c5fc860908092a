import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, LABEL_CREATED_FOR } from "../api/constants.ts";
import { getErrorMessage, orErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { selectClusterCatalogs } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { getAccountName } from "../permissions/grantObjects.ts";
import { isServed } from "./catalogState.ts";
import { type EventRecord, readEvents } from "./extensionEvents.ts";
import { listClusterExtensions } from "./extensions.ts";
import { type InstalledObjects, type InventoryObjectHealth, readInstalledObjects, readInventoryHealth } from "./inventory.ts";
import { type ReleaseRow, readReleaseRows } from "./releaseHistory.ts";

/** Whether a ServiceAccount exists, and whether `olmv1 install` created it. */
type AccountState = "missing" | "there" | "made" | { readonly unknown: string };

/** The state of an extension. If a part cannot be read, its value is the error text. */
export interface ExtensionDescription {
  readonly extension: ClusterExtension;
  readonly account: AccountState;
  readonly installed: InstalledObjects;
  /** The installed objects that have a health check. */
  readonly objects: readonly InventoryObjectHealth[];
  readonly releases: readonly ReleaseRow[] | string;
  /** Oldest first. */
  readonly events: readonly EventRecord[] | string;
  /** All extensions of the cluster. */
  readonly others: readonly ClusterExtension[] | string;
  /** The selected catalogs that are not served as specified. */
  readonly catalogs: readonly ClusterCatalog[] | string;
}

/** Where and when to read a description. */
export interface DescriptionOptions {
  /** The namespace of the release Secrets. */
  readonly systemNamespace: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Reads everything that describes an extension, with the user's permissions. A missing permission hides only one part. */
export async function readExtensionDescription(
  client: Client,
  extension: ClusterExtension,
  { systemNamespace, now }: DescriptionOptions,
): Promise<ExtensionDescription> {
  const [account, [installed, objects], releases, events, catalogs, others] = await Promise.all([
    readAccountState(client, extension),
    readObjects(client, extension, { systemNamespace, now }),
    orErrorMessage(readReleaseRows(client, extension, systemNamespace)),
    orErrorMessage(readEvents(client, extension.metadata).then((found) => found.events)),
    orErrorMessage(listFailingCatalogs(client, extension)),
    orErrorMessage(listClusterExtensions(client)),
  ]);
  return { extension, account, installed, objects, others, releases, events, catalogs };
}

async function readObjects(
  client: Client,
  extension: ClusterExtension,
  { systemNamespace, now }: DescriptionOptions,
): Promise<[InstalledObjects, InventoryObjectHealth[]]> {
  const installed = await readInstalledObjects(client, extension, systemNamespace);
  return [installed, await readInventoryHealth(client, installed.refs, now)];
}

/** Reads the state of the ServiceAccount of an extension. */
async function readAccountState(client: Pick<Client, "get">, extension: ClusterExtension): Promise<AccountState> {
  const { metadata } = extension;
  const account = { apiVersion: "v1", kind: "ServiceAccount", namespace: getNamespace(extension), name: getAccountName(extension) };
  try {
    const found = await client.get(account, { metadataOnly: true });
    if (!found) return "missing";
    return found.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name ? "made" : "there";
  } catch (err) {
    return { unknown: getErrorMessage(err) };
  }
}

/** Returns the selected catalogs that are not served as specified, by name. */
async function listFailingCatalogs(client: Pick<Client, "list">, { spec }: ClusterExtension): Promise<ClusterCatalog[]> {
  const source = spec.source.catalog;
  if (!source) return [];
  const { items } = await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG });
  const selection = selectClusterCatalogs({ list: () => items }, source);
  const selected = selection.kind === "catalogs" ? selection.catalogs : [];
  return selected.filter((catalog) => catalog.spec.availabilityMode !== "Unavailable" && !isServed(catalog));
}
