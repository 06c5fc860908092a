import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { LABEL_METADATA_NAME } from "../api/constants.ts";
import type { WebhookCertProvider } from "../api/flagValues.ts";
import { getGroup, type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { LABEL_MIGRATION } from "../api/migration.ts";
import { goQuote } from "../golang/quote.ts";
import { computeBundlePermissions, mergeRules } from "../installer/bundlePermissions.ts";
import type { Client } from "../kube/client.ts";
import { CertificateProviders } from "../operatorcontroller/apply/certificateProviders.ts";
import { type OperatorProxySettings, readClusterProxy } from "../operatorcontroller/openshift/clusterProxy.ts";
import { createPlan, type PlanRequest } from "../operatorcontroller/plan/createPlan.ts";
import type { InstallPlan, PlanFinding } from "../operatorcontroller/plan/installPlan.ts";
import { previewExtension } from "../operatorcontroller/plan/previewExtension.ts";
import { previewPermissions } from "../preview/permissionPreview.ts";
import { buildInstallerManifests, getControllerSubject } from "../rbac/installerManifests.ts";
import { describeObject, getObjectKey } from "../release/identity.ts";
import { comparePods, type PodChange } from "../release/liveOrder.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { createCatalogReader } from "../sources/clusterCatalogs.ts";
import { createLogger } from "../telemetry/log.ts";
import { formatCount } from "../text/lists.ts";
import { findBackupFaults } from "./backup.ts";
import type { CatalogOffers } from "./catalogOffers.ts";
import { parseInstalledCsv } from "./clusterServiceVersion.ts";
import type { BundleOffer } from "./eligibilityInput.ts";
import type { TargetAccount } from "./extensionManifest.ts";
import {
  type ConvertedObject,
  describeConvertedObject,
  describeLeftover,
  type KeptFields,
  keepPodAnnotations,
} from "./objectConversion.ts";
import { listOlmV0Objects } from "./olmV0Cluster.ts";
import { isManifestOfCsv, type MarkedBy, type RemovedMarks } from "./ownershipMarks.ts";
import { readPlannedObjects } from "./plannedObjects.ts";
import { parseSubscription } from "./subscription.ts";

/** The input of a conversion: the OLM v0 objects, the extension to create, and the bundle. */
export interface ConversionSource {
  readonly subscription: KubeObject;
  readonly csv: KubeObject;
  readonly group: KubeObject | undefined;
  readonly extension: ClusterExtension;
  readonly offer: Pick<BundleOffer, "image">;
}

/** The client and settings for planning a conversion. */
export interface ConversionSettings {
  /** The proxy settings of operator-controller. */
  readonly proxy: OperatorProxySettings;
  readonly terminal: { readonly err: (text: string) => void };
  readonly client: Client;
  readonly reader: BundleReader;
  readonly offers: CatalogOffers;
  readonly systemNamespace: string;
  readonly webhookCertProvider: WebhookCertProvider;
  readonly account: TargetAccount["kind"];
  readonly signal: AbortSignal;
}

/** The reason why a conversion is not possible. Kind "backup": an object that the conversion deletes cannot be backed up. */
interface ConversionFinding {
  readonly kind: PlanFinding["kind"] | "backup";
  readonly text: string;
}

/** The effect of a conversion. */
export interface Conversion {
  readonly source: ConversionSource;
  readonly csv: MarkedBy;
  /** ServiceAccount, roles and bindings of the installer, in the order in which they are applied. Empty if an existing ServiceAccount is used. */
  readonly installerManifests: readonly KubeObject[];
  readonly objects: readonly ConvertedObject[];
  /** Roles and bindings with the names of the bundle. Created before those of OLM v0 are deleted, so that the operator always has its permissions. */
  readonly grants: readonly KubeObject[];
  readonly findings: readonly ConversionFinding[];
  readonly notes: readonly string[];
  /** The marks in the backup; undefined if the conversion has not written a backup yet. */
  readonly marks?: readonly RemovedMarks[];
}

/** Returns the identity by which to find the OLM v0 objects. */
export function getMarkIdentity({ subscription, csv }: Pick<ConversionSource, "subscription" | "csv">): MarkedBy {
  const { namespace, name, definitions } = parseInstalledCsv(csv);
  return { namespace, name, definitions, packageName: parseSubscription(subscription).packageName };
}

/** Plans a conversion. Writes nothing. @throws Error if the bundle cannot be resolved, pulled or rendered, or if reading the cluster is forbidden */
export async function planConversion(source: ConversionSource, settings: ConversionSettings): Promise<Conversion> {
  const { client, signal } = settings;
  const identity = getMarkIdentity(source);
  const csv = { ...identity, planned: await readPlannedObjects(client, identity, signal) };
  const installerManifests = settings.account === "Created" ? await computePermissions(source, settings) : [];
  const pods = new Map<string, PodChange>();
  const grants: KubeObject[] = [];
  const plan = await installPlan(source, csv, settings, ({ live, after }) => {
    for (const [key, object] of live) pods.set(key, comparePods(object, after.get(key) ?? object));
    for (const [key, object] of after) if (!live.has(key) && getGroup(object.apiVersion) === RBAC_GROUP) grants.push(toGrant(object));
  });
  const getPodChange = (ref: ObjectRef): PodChange | undefined => pods.get(getObjectKey(ref));
  const { objects, kept } = keepPodAnnotations(
    plan.objects.map(({ apiVersion, kind, namespace, name, action, changes }) =>
      describeConvertedObject(
        { apiVersion, kind, namespace, name },
        changes,
        action === "Create" ? undefined : getPodChange({ apiVersion, kind, namespace, name }),
      ),
    ),
    getPodChange,
  );
  const held = new Set(objects.map(({ ref }) => getObjectKey(ref)));
  const classic = await listOlmV0Objects(client, csv, plan.objects, signal);
  const left = classic.filter((object) => !held.has(getObjectKey(object))).map((object) => describeLeftover(toObjectRef(object)));
  const warnings = plan.warnings.map(({ text, objects: about }) => `the API server warns about ${about.join(", ")}: ${text}`);
  const managed = settings.account === "Managed" ? await previewGrant(source, settings) : { findings: [], notes: [] };
  const findings = [
    ...plan.findings,
    ...(await checkAccount(installerManifests, source, settings)),
    ...managed.findings,
    ...findBackupFaults(source).map((text) => ({ kind: "backup" as const, text })),
  ];
  const notes = [...plan.notes, ...warnings, ...kept.map(formatKept), ...managed.notes];
  return { source: keeping(source, kept), csv, installerManifests, objects: [...objects, ...left], grants, findings, notes };
}

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Returns an object of a dry run in the form in which it can be created. */
function toGrant(object: KubeObject): KubeObject {
  const { name, namespace, labels, annotations } = object.metadata;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels ? { labels } : {}),
    ...(annotations ? { annotations } : {}),
  };
  return { ...object, metadata };
}

/** Adds the rules to a new extension. An existing extension already has them. */
function keeping(source: ConversionSource, kept: readonly KeptFields[]): ConversionSource {
  const { extension } = source;
  if (kept.length === 0 || extension.metadata.uid !== undefined) return source;
  const ignore = kept.map(({ paths, target }) => ({ paths: [...paths], target }));
  return { ...source, extension: { ...extension, spec: { ...extension.spec, drift: { ignore } } } };
}

function formatKept({ paths, target: { kind, name } }: KeptFields): string {
  return `to avoid Pod restarts, spec.drift.ignore keeps Pod template annotations of ${kind} ${name} that differ from the bundle: ${paths.join(", ")}. Remove these paths after the first upgrade`;
}

async function installPlan(
  { extension, csv: csvObject }: ConversionSource,
  csv: MarkedBy,
  settings: ConversionSettings,
  seen: PlanRequest["seen"],
): Promise<InstallPlan> {
  const { client, reader, offers, systemNamespace, webhookCertProvider, signal } = settings;
  const uid = csvObject.metadata.uid;
  return createPlan({
    desired: await previewExtension(client, { ...extension, spec: { ...extension.spec, suspend: false } }),
    catalogs: offers.catalogs,
    client,
    scoped: client,
    isServiceAccount: false,
    reader,
    contents: createCatalogReader(reader),
    providers: new CertificateProviders(client, webhookCertProvider),
    clusterProxy: await readClusterProxy(client, settings.proxy),
    systemNamespace,
    ...(seen ? { seen } : {}),
    willBeAdopted: (live) => uid !== undefined && isManifestOfCsv(live, csv),
    log: createLogger({ component: "olmv1", level: "error", destination: process.stderr }),
    signal,
  });
}

/** Adds a label to all objects of the installer, so that a rollback deletes only these. */
async function computePermissions(
  { extension, offer }: ConversionSource,
  { terminal, reader, systemNamespace, webhookCertProvider }: ConversionSettings,
): Promise<KubeObject[]> {
  const { serviceAccount, config } = extension.spec;
  const inline = (config?.inline ?? {}) as { watchNamespace?: string; watchNamespaces?: string[] };
  const watched = inline.watchNamespaces ?? (inline.watchNamespace === undefined ? [] : [inline.watchNamespace]);
  const installer = { namespace: getNamespace(extension), name: serviceAccount?.name ?? "" };
  const permissions = await computeBundlePermissions(
    terminal,
    [offer.image],
    { watchNamespace: watched, strategy: "escalate", crdPolicy: "Retain", webhookCertProvider },
    (image) => reader.bundleImage(image),
    installer,
  );
  return buildInstallerManifests(installer, mergeRules(permissions), getControllerSubject(systemNamespace)).map((object) => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, [LABEL_MIGRATION]: extension.metadata.name } },
  }));
}

/** Previews what permission-manager will decide, so that no conversion begins that waits for permissions that the policy denies. */
async function previewGrant(
  { extension, offer }: ConversionSource,
  { client, reader, offers, systemNamespace, webhookCertProvider }: ConversionSettings,
): Promise<{ findings: PlanFinding[]; notes: string[] }> {
  const catalogName = extension.spec.source.catalog?.selector?.matchLabels?.[LABEL_METADATA_NAME];
  const preview = await previewPermissions({
    client,
    extension,
    bundle: await reader.bundleImage(offer.image),
    catalog: offers.catalogs.find(({ metadata }) => metadata.name === catalogName),
    providers: new CertificateProviders(client, webhookCertProvider),
    systemNamespace,
  });
  const refuse = (text: string) => ({ findings: [{ kind: "permissions" as const, text }], notes: [] });
  if (!preview) return refuse("the cluster has no permission-manager: use --create-service-account or --service-account");
  const { policy, account, state, problem = "it denies permissions that the bundle needs", pending } = preview;
  const by = `permission-manager creates ServiceAccount ${account.namespace}/${account.name} with the permissions that PermissionPolicy ${goQuote(policy.name)} allows`;
  if (state === "Denied")
    return refuse(`PermissionPolicy ${goQuote(policy.name)}: ${problem}. Change the policy, or use --create-service-account`);
  const waits = `${by}. ${formatCount(pending.length, "permission")} of the bundle wait for your approval during the conversion: olmv1 permissions approve ${extension.metadata.name}`;
  return { findings: [], notes: [pending.length > 0 ? waits : by] };
}

/** Returns findings if a required ServiceAccount does not exist, or if objects to create already exist and do not belong to this conversion. */
async function checkAccount(
  installerManifests: readonly KubeObject[],
  { extension }: ConversionSource,
  { client, account: kind, signal }: ConversionSettings,
): Promise<PlanFinding[]> {
  if (kind === "Managed") return [];
  const { namespace, serviceAccount } = extension.spec;
  const account = { apiVersion: "v1", kind: "ServiceAccount", namespace, name: serviceAccount?.name ?? "" };
  if (kind === "Existing") {
    if (await client.get(account, { metadataOnly: true, signal })) return [];
    const text = `${describeObject(account)} does not exist: --create-service-account creates one with the permissions that the bundle needs`;
    return [{ kind: "permissions", text }];
  }
  const found = await Promise.all(installerManifests.map((object) => client.get(toObjectRef(object), { metadataOnly: true, signal })));
  const foreign = found
    .filter((object) => object !== undefined)
    .filter(({ metadata }) => metadata.labels?.[LABEL_MIGRATION] !== extension.metadata.name);
  return foreign.map((object) => ({
    kind: "permissions",
    text: `${describeObject(object)} already exists: choose another name with --create-service-account NAME, or use the existing object with --service-account`,
  }));
}
