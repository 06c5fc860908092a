import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type ExtensionPermissionsStatus, isSameBundle, type RequestedBundle } from "../api/extensionPermissions.ts";
import { readSuggestedNamespace, type SuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import { RetryableError } from "../errors/errors.ts";
import type { FbcBundle } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import type { CertificateProviders } from "../operatorcontroller/apply/certificateProviders.ts";
import type { BundleCache } from "../operatorcontroller/bundles/bundleCache.ts";
import { readBundleFiles } from "../operatorcontroller/bundles/bundleFiles.ts";
import type { BundleImageSource } from "../operatorcontroller/bundles/bundleImages.ts";
import { type CatalogLister, type CatalogPackages, selectClusterCatalogs } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { buildRiskSubject } from "../permissions/riskSubject.ts";
import { computeRequiredRules } from "../rbac/requiredRules.ts";
import { findBundleVersion } from "../resolve/candidates.ts";
import { formatVersion, formatVersionRelease } from "../version/version.ts";
import { type ContentRules, deriveContentRules } from "./contentRules.ts";

/** What the derivation of rules reads. */
export interface BundleRulesServices {
  readonly client: Pick<Client, "resourceFor">;
  readonly catalogs: CatalogLister;
  readonly packages: Pick<CatalogPackages, "read">;
  readonly images: Pick<BundleImageSource, "obtain">;
  readonly bundles: Pick<BundleCache, "load">;
  readonly providers: Pick<CertificateProviders, "chooseAfter">;
  readonly systemNamespace: string;
}

/** The rules that an extension needs, and what their risk depends on. */
export interface DerivedRules extends ContentRules {
  /** The catalog that contains the bundle; undefined without a bundle, or if the bundle was verified before and the catalog no longer exists. */
  readonly catalog: Readonly<ClusterCatalog> | undefined;
  /** Name of the provider of certificates; undefined if the bundle needs none. */
  readonly certificateProvider: string | undefined;
  /** The namespace of the extension, with the labels and annotations that the bundle suggests for its creation. */
  readonly namespace: SuggestedNamespace;
}

/** The error if a request names a bundle that no selected catalog offers to the extension. */
export class UnverifiedRequest extends RetryableError {
  override readonly name = "UnverifiedRequest";

  constructor(message: string, options?: { cause: unknown }) {
    super("Retrying", message, options);
  }
}

/** Derives the rules that an extension without a bundle needs to read the objects in `spec.config.valuesFrom`. */
export function deriveSourceRules(extension: Readonly<ClusterExtension>, namespace: string, systemNamespace: string): DerivedRules {
  const { valuesFrom = [] } = extension.spec.config ?? {};
  const rules = computeRequiredRules([], { installNamespace: namespace, valuesFrom });
  return {
    rules,
    computeReadRules: () => rules,
    subject: buildRiskSubject({ installNamespace: namespace, systemNamespace }, []),
    catalog: undefined,
    certificateProvider: undefined,
    namespace: { name: namespace, labels: {}, annotations: {} },
  };
}

/**
 * Derives the rules for a requested bundle from its image, after it verified that a catalog selected by the extension contains the bundle.
 * Uses nothing of the request but the names and the digest of the image. Does not wait for a pull: the end of the pull triggers the next reconcile.
 * @param known the namespace of the extension; default: the one that the bundle suggests
 * @param before the last status. Its bundle was verified for the extension, so its image stays valid after the catalog changes.
 * @returns undefined while the image is being pulled
 * @throws UnverifiedRequest if the catalogs do not contain the bundle with this version and image; RetryableError if a catalog or image cannot be read;
 * TerminalError if the bundle cannot be rendered
 */
export async function deriveBundleRules(
  services: BundleRulesServices,
  given: Readonly<ClusterExtension>,
  known: string | undefined,
  requested: RequestedBundle,
  before: ExtensionPermissionsStatus | undefined,
  signal: AbortSignal,
): Promise<DerivedRules | undefined> {
  const { catalog, ref } = await verifyRequest(services, given, requested, before?.bundle, signal);
  const { images, bundles, providers, client } = services;
  const pull = await images.obtain(given, { ref, namespace: known }, signal);
  if (pull.kind === "pending") return undefined;
  if (pull.kind === "failed") throw pull.error;
  const { image } = pull.value;
  if (image.canonical !== requested.image)
    throw new UnverifiedRequest(
      `ClusterCatalog ${goQuote(requested.catalog)} contains bundle ${goQuote(requested.name)} with image ${image.canonical}, but the request has image ${requested.image}`,
    );
  const content = await bundles.load(image.digest, () => readBundleFiles(image.dir));
  const suggested = readSuggestedNamespace(requested.packageName, content.annotations);
  const namespace = known === undefined ? suggested : { ...suggested, name: known };
  const extension = { ...given, spec: { ...given.spec, namespace: namespace.name } };
  // operator-controller keeps the provider of an installed bundle.
  const provider = content.needsCertificates ? await providers.chooseAfter(before?.certificateProvider) : undefined;
  const { operatorCondition } = requested;
  const place = { client, systemNamespace: services.systemNamespace, provider, operatorCondition };
  return { ...(await deriveContentRules(place, extension, content)), catalog, certificateProvider: provider?.name, namespace };
}

/** A bundle that a catalog contains. */
interface VerifiedBundle {
  /** Undefined if the bundle was verified before and the catalog no longer exists. */
  readonly catalog: ClusterCatalog | undefined;
  /** The image: of the catalog, which may be a tag, or of a request that was verified before. */
  readonly ref: string;
}

/**
 * Verifies that a catalog which the extension selects contains the requested bundle. The caller compares the digest of the image. A bundle that was
 * verified before stays valid without its catalog.
 * @throws UnverifiedRequest, RetryableError
 */
async function verifyRequest(
  services: BundleRulesServices,
  extension: Readonly<ClusterExtension>,
  requested: RequestedBundle,
  verified: RequestedBundle | undefined,
  signal: AbortSignal,
): Promise<VerifiedBundle> {
  const { image } = requested;
  const isVerified = verified !== undefined && isSameBundle({ ...requested, operatorCondition: verified.operatorCondition }, verified);
  if (isVerified && !services.catalogs.list().some(({ metadata }) => metadata.name === requested.catalog))
    return { catalog: undefined, ref: image };
  const catalog = selectCatalog(services, extension, requested);
  return { catalog, ref: isVerified ? image : (await findBundle(services, catalog, requested, signal)).image };
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

/**
 * Returns the requested bundle in a catalog.
 * @throws UnverifiedRequest if the catalog does not contain the bundle with this version; RetryableError if it cannot be read
 */
async function findBundle(
  { packages }: Pick<BundleRulesServices, "packages">,
  catalog: ClusterCatalog,
  { name, packageName, version: requested }: RequestedBundle,
  signal: AbortSignal,
): Promise<FbcBundle> {
  const where = `ClusterCatalog ${goQuote(catalog.metadata.name)}`;
  const [found] = await packages.read([catalog], packageName, signal);
  if (!found || found.unavailable !== undefined)
    throw new RetryableError(
      "Retrying",
      `cannot verify bundle ${goQuote(name)}: ${where} is unavailable: ${found?.unavailable ?? "availabilityMode is Unavailable"}`,
    );
  const bundle = found.content?.bundles.find((one) => one.name === name);
  if (!bundle) throw new UnverifiedRequest(`${where} does not contain bundle ${goQuote(name)} of package ${goQuote(packageName)}`);
  const version = findBundleVersion(bundle);
  const texts = version ? [formatVersion(version.version), formatVersionRelease(version)] : [];
  if (!texts.includes(requested))
    throw new UnverifiedRequest(
      `${where} contains bundle ${goQuote(name)} with version ${goQuote(texts[0] ?? "")}, but the request has version ${goQuote(requested)}`,
    );
  return bundle;
}
