import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { RequestedBundle } from "../api/extensionPermissions.ts";
import type { KubeObject } from "../api/k8s.ts";
import { getErrorMessage, RetryableError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { findBundleRoot } from "../oci/pull/imageFilter.ts";
import type { Puller } from "../oci/pull/puller.ts";
import type { CertificateProviders } from "../operatorcontroller/apply/certificateProviders.ts";
import { prepareExtension, renderExtension } from "../operatorcontroller/apply/preparedObjects.ts";
import type { BundleCache } from "../operatorcontroller/bundles/bundleCache.ts";
import { readBundleFiles } from "../operatorcontroller/bundles/bundleFiles.ts";
import { type CatalogLister, type CatalogPackages, selectClusterCatalogs } from "../operatorcontroller/catalogs/catalogPackages.ts";
import type { RiskSubject } from "../permissions/riskClasses.ts";
import { computeRequiredRules, type RequiredRules } from "../rbac/requiredRules.ts";
import { type ResourceOf, readDefinedResource } from "../rbac/resources.ts";
import { getCrdPolicy } from "../release/plan.ts";

/** What the derivation of rules reads. */
export interface BundleRulesServices {
  readonly client: Pick<Client, "resourceFor">;
  readonly catalogs: CatalogLister;
  readonly packages: Pick<CatalogPackages, "read">;
  readonly puller: Pick<Puller, "resolve" | "pull">;
  readonly bundles: Pick<BundleCache, "load">;
  readonly providers: Pick<CertificateProviders, "choose">;
  readonly systemNamespace: string;
}

/** The rules that a bundle needs for an extension, and what their risk depends on. */
export interface DerivedRules {
  readonly rules: RequiredRules;
  readonly subject: RiskSubject;
  /** The catalog that contains the bundle. */
  readonly catalog: Readonly<ClusterCatalog>;
}

/** The error if a request names a bundle that no selected catalog offers to the extension. */
export class UnverifiedRequest extends RetryableError {
  override readonly name = "UnverifiedRequest";

  constructor(message: string, options?: { cause: unknown }) {
    super("Retrying", message, options);
  }
}

/**
 * Derives the rules for a requested bundle from its image, after it verified that a catalog selected by the extension contains the bundle.
 * Uses nothing of the request but the names and the digest.
 * @param verified the last bundle that was verified for the extension; its image stays valid after the catalog changes
 * @throws UnverifiedRequest if the catalogs do not contain the bundle with this image; RetryableError if a catalog or image cannot be read;
 * TerminalError if the bundle cannot be rendered
 */
export async function deriveBundleRules(
  services: BundleRulesServices,
  extension: Readonly<ClusterExtension>,
  requested: RequestedBundle,
  verified: RequestedBundle | undefined,
  signal: AbortSignal,
): Promise<DerivedRules> {
  const catalog = selectCatalog(services, extension, requested);
  if (!isSameBundle(requested, verified)) await verifyBundle(services, catalog, requested, signal);
  const { puller, bundles, providers, client } = services;
  const { name } = extension.metadata;
  const pulled = await puller.pull(name, requested.image, { signal, filter: findBundleRoot });
  const content = await bundles.load(pulled.digest, () => readBundleFiles(pulled.dir));
  const rendered = await renderExtension({ extension }, content, await providers.choose([]), undefined);
  const { objects, kinds } = await prepareExtension(client, extension, rendered);
  const { namespace, config } = extension.spec;
  const rules = computeRequiredRules(objects, {
    installNamespace: namespace,
    resourceOf: (gvk) => kinds.resourceOf(gvk),
    strategy: "union",
    crdPolicy: getCrdPolicy(extension.spec),
    valuesFrom: config?.valuesFrom ?? [],
  });
  return { rules, catalog, subject: describeSubject(objects, namespace, services.systemNamespace, (gvk) => kinds.resourceOf(gvk)) };
}

/** Returns the ClusterCatalog of a request. @throws UnverifiedRequest if the extension does not select it */
function selectCatalog(
  { catalogs }: Pick<BundleRulesServices, "catalogs">,
  extension: Readonly<ClusterExtension>,
  { catalog: name, packageName }: RequestedBundle,
): ClusterCatalog {
  const source = extension.spec.source.catalog;
  if (source?.packageName !== packageName)
    throw new UnverifiedRequest(
      `the request is for package ${goQuote(packageName)}, but the extension installs ${goQuote(source?.packageName ?? "")}`,
    );
  const selected = selectClusterCatalogs(catalogs, source);
  const found = selected.kind !== "catalogs" ? undefined : selected.catalogs.find(({ metadata }) => metadata.name === name);
  if (!found) throw new UnverifiedRequest(`the extension does not select ClusterCatalog ${goQuote(name)} of the request`);
  return found;
}

/** @throws UnverifiedRequest if the catalog does not contain the bundle with this image; RetryableError if it cannot be read */
async function verifyBundle(
  { packages, puller }: BundleRulesServices,
  catalog: ClusterCatalog,
  requested: RequestedBundle,
  signal: AbortSignal,
): Promise<void> {
  const { name, image, packageName } = requested;
  const where = `ClusterCatalog ${goQuote(catalog.metadata.name)}`;
  const [found] = await packages.read([catalog], packageName, signal);
  if (!found || found.unavailable !== undefined)
    throw new RetryableError(
      "Retrying",
      `cannot verify bundle ${goQuote(name)}: ${where} is unavailable: ${found?.unavailable ?? "availabilityMode is Unavailable"}`,
    );
  const bundle = found.content?.bundles.find((one) => one.name === name);
  if (!bundle) throw new UnverifiedRequest(`${where} does not contain bundle ${goQuote(name)} of package ${goQuote(packageName)}`);
  let canonical: string;
  try {
    ({ canonical } = await puller.resolve(bundle.image, signal));
  } catch (err) {
    signal.throwIfAborted();
    throw new RetryableError("Retrying", `cannot verify bundle ${goQuote(name)}: ${getErrorMessage(err)}`, { cause: err });
  }
  if (image !== canonical)
    throw new UnverifiedRequest(`${where} contains bundle ${goQuote(name)} with image ${canonical}, but the request has image ${image}`);
}

function isSameBundle(a: RequestedBundle, b: RequestedBundle | undefined): boolean {
  return b !== undefined && a.image === b.image && a.name === b.name && a.packageName === b.packageName && a.catalog === b.catalog;
}

/** Returns what the risk of rules depends on: names and API groups of the bundle's objects. */
function describeSubject(
  objects: readonly KubeObject[],
  installNamespace: string,
  systemNamespace: string,
  resourceOf: ResourceOf,
): RiskSubject {
  const ownNames = new Map<string, Set<string>>();
  const ownGroups = new Set<string>();
  for (const object of objects) {
    const resource = resourceOf(object)?.resource;
    if (resource !== undefined) ownNames.set(resource, (ownNames.get(resource) ?? new Set()).add(object.metadata.name));
    const defined = readDefinedResource(object);
    if (defined) ownGroups.add(defined.group);
  }
  return { installNamespace, systemNamespace, ownNames, ownGroups };
}
