import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { LABEL_MIGRATION } from "../../../pkg/api/migration.ts";
import { subscriptionFrom } from "../../../pkg/migrate/subscription.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { CatalogOffers } from "./catalogOffers.ts";
import { CSV, readOrNone } from "./classicCluster.ts";
import { type Conversion, type ConversionSource, markedBy, planConversion } from "./conversion.ts";
import type { Migrated } from "./migrated.ts";
import { type Session, settingsOf } from "./session.ts";

/**
 * A conversion that was begun, as it goes on: what is written down of it counts, not what the command line says.
 * @throws Error where its Subscription or ClusterServiceVersion is gone without a backup, or no ClusterCatalog has the bundle any more.
 */
export async function resumedConversion(session: Session, begun: Migrated): Promise<Conversion> {
  const { terminal, options, client, reader, progress } = session;
  const source = await sourceOf(client, begun);
  const { backup } = begun;
  if (backup) return { source, csv: markedBy(source), rights: [], objects: [], findings: [], notes: [], marks: backup.marks };
  const { packageName } = subscriptionFrom(source.subscription);
  const offers = await CatalogOffers.read(client, {
    given: options.catalogDir,
    packages: new Set([packageName]),
    reader,
    signal: terminal.signal,
    tell: (what) => progress.now(what),
  });
  const [offer] = offers.of(packageName, source.csv.metadata.name).bundles;
  if (!offer) throw new Error(`no ClusterCatalog has bundle "${source.csv.metadata.name}" of package "${packageName}" any more`);
  return planConversion({ ...source, offer }, settingsOf(session, offers, await mayMakeAccount(client, begun)));
}

async function sourceOf(client: Client, { extension, subscription, group, backup }: Migrated): Promise<ConversionSource> {
  if (!subscription) throw new Error(`ClusterExtension "${extension.metadata.name}" keeps no backup of its Subscription`);
  const { namespace, installedCsv = "" } = subscriptionFrom(subscription);
  const csv = backup?.csv ?? (await readOrNone(client, { ...CSV, namespace, name: installedCsv }));
  if (!csv) throw new Error(`${describeObject({ ...CSV, namespace, name: installedCsv })} does not exist, and there is no backup of it`);
  return { subscription, csv, group, extension: { ...extension, apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, offer: { image: "" } };
}

/** It was made by this conversion, or is not there yet. */
async function mayMakeAccount(client: Client, { extension }: Migrated): Promise<boolean> {
  const { namespace, serviceAccount } = extension.spec;
  const found = await client.get(
    { apiVersion: "v1", kind: "ServiceAccount", namespace, name: serviceAccount?.name ?? "" },
    { metadataOnly: true },
  );
  return !found || found.metadata.labels?.[LABEL_MIGRATION] === extension.metadata.name;
}
