import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import type { WebhookCertProvider } from "../api/flagValues.ts";
import { getErrorMessage, wrapError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { ServiceAccountTokens } from "../kube/tokens.ts";
import { CertificateProviders } from "../operatorcontroller/apply/certificateProviders.ts";
import type { RenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import { type OperatorProxySettings, readClusterProxy } from "../operatorcontroller/openshift/clusterProxy.ts";
import { createPlan, type PlanRequest } from "../operatorcontroller/plan/createPlan.ts";
import type { InstallPlan } from "../operatorcontroller/plan/installPlan.ts";
import { previewExtension } from "../operatorcontroller/plan/previewExtension.ts";
import { getAccountName } from "../permissions/grantObjects.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { type CatalogContentReader, createCatalogReader, createClusterCatalogs, listClusterCatalogs } from "../sources/clusterCatalogs.ts";
import type { Logger } from "../telemetry/log.ts";
import { type PermissionPreview, type PreviewRequest, previewPermissions, toPreviewData } from "./permissionPreview.ts";
import { createPlanDependencies } from "./planDependencies.ts";
import type { DependencySearch } from "./previewChoice.ts";

/** A plan, and what permission-manager would decide about its bundle. */
export interface PlanView extends InstallPlan {
  /** Absent if the extension uses a ServiceAccount of its own; why they are unknown if they cannot be previewed. */
  readonly permissions?: PermissionPreview | { readonly unknown: string };
}

/** The extension to plan, and the sources and settings of the plan. */
export interface ExtensionPlanRequest {
  readonly client: Client;
  /** An existing, changed or new extension. */
  readonly given: ClusterExtension;
  readonly reader: Pick<BundleReader, "bundleImage"> & CatalogContentReader;
  /** Folders, files and images of catalogs to use instead of the catalogs of the cluster. */
  readonly sources?: readonly string[] | undefined;
  /** How to search for dependencies. Default: in this thread, see `createDependencySearch`. */
  readonly search?: DependencySearch | undefined;
  readonly systemNamespace: string;
  readonly webhookCertProvider: WebhookCertProvider;
  readonly proxySettings: OperatorProxySettings;
  /** Returns the client for reads and dry runs as the extension's ServiceAccount; without it, they use `client`. */
  readonly asServiceAccount?: ((extension: ClusterExtension) => Promise<Client>) | undefined;
  /** Checks the permissions of a ServiceAccount also if the dry runs do not use it. */
  readonly account?: PlanRequest["account"];
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Computes what operator-controller and permission-manager would do with an extension; writes nothing. `unavailableCatalogs` of the result lists the
 * catalogs that cannot be read.
 * @throws UnresolvedError if no bundle matches; Error that describes what cannot be read
 */
export async function readExtensionPlan(request: ExtensionPlanRequest): Promise<PlanView> {
  const { client, given, reader, sources, search, systemNamespace, asServiceAccount, account, log, signal } = request;
  const desired = await previewExtension(client, given);
  const { extension } = desired;
  if (sources && extension.spec.source.catalog) delete extension.spec.source.catalog.selector; // it selects ClusterCatalogs, which `sources` replace
  const catalogs = sources ? createClusterCatalogs(sources) : await listClusterCatalogs(client, signal);
  const scoped = asServiceAccount ? await asServiceAccount(extension) : client;
  const providers = new CertificateProviders(client, request.webhookCertProvider);
  const clusterProxy = await readClusterProxy(client, request.proxySettings);
  let bundle: RenderableBundle | undefined;
  const plan = await createPlan({
    desired,
    catalogs,
    client,
    scoped,
    isServiceAccount: asServiceAccount !== undefined,
    account,
    reader: { bundleImage: async (ref) => (bundle = await reader.bundleImage(ref)) },
    contents: createCatalogReader(reader),
    dependencies: createPlanDependencies({ client, catalogs, usesClusterCatalogs: sources === undefined, reader, search }),
    providers,
    clusterProxy,
    systemNamespace,
    log,
    signal,
  });
  const catalog = sources ? undefined : catalogs.find(({ metadata }) => metadata.name === plan.bundle.catalog);
  const permissions = bundle && (await previewPlan({ client, extension, bundle, catalog, providers, systemNamespace }));
  return permissions ? { ...assumeCreatedNamespace(plan, permissions), permissions } : plan;
}

/** Returns a plan without findings about a namespace that permission-manager creates before the controller creates objects in it. */
function assumeCreatedNamespace(plan: InstallPlan, permissions: NonNullable<PlanView["permissions"]>): InstallPlan {
  if ("unknown" in permissions || permissions.policy.spec.namespaces?.create === false) return plan;
  const { namespace } = permissions.account;
  const findings = plan.findings.filter((finding) => finding.namespace !== namespace);
  if (findings.length === plan.findings.length) return plan;
  return {
    ...plan,
    findings,
    // Without the namespace, the API server denies every object in it.
    objects: plan.objects.map((object) => (object.namespace === namespace ? { ...object, refused: false } : object)),
    notes: [...plan.notes, `permission-manager creates namespace ${goQuote(namespace)}; objects in it are not checked by a dry run.`],
  };
}

/**
 * Previews the permissions of a planned bundle. Undefined if the extension uses a ServiceAccount of its own, or the cluster has no
 * ExtensionPermissions.
 */
async function previewPlan(request: PreviewRequest): Promise<PlanView["permissions"]> {
  try {
    return await previewPermissions(request);
  } catch (err) {
    if (err instanceof KindNotServed) return undefined;
    return { unknown: getErrorMessage(err) };
  }
}

/** Returns a plan as JSON. */
export function toPlanData({ permissions, ...plan }: PlanView): object {
  return { ...plan, ...(permissions ? { permissions: "unknown" in permissions ? permissions : toPreviewData(permissions) } : {}) };
}

/** Reports whether the policy denies the permissions of a plan. */
function isPlanDenied({ permissions }: PlanView): boolean {
  return permissions !== undefined && "state" in permissions && permissions.state === "Denied";
}

/** Reports whether the controller would carry out a plan: it has no findings, and the policy does not deny its permissions. */
export function isPlanAccepted(plan: PlanView): boolean {
  return plan.findings.length === 0 && !isPlanDenied(plan);
}

/** Returns a client with a token for the extension's ServiceAccount. @throws Error with the ServiceAccount if no token can be created. */
export async function createInstallerClient(extension: ClusterExtension, client: Client): Promise<Client> {
  const [namespace, name] = [getNamespace(extension), getAccountName(extension)];
  const source = new ServiceAccountTokens(client).tokenFor(namespace, name);
  try {
    await source();
  } catch (err) {
    throw wrapError(`create a token for ServiceAccount ${goQuote(`${namespace}/${name}`)}: `, err);
  }
  return client.withToken(source);
}
