import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { ANNOTATION_MIGRATED_FROM_SOURCE } from "../api/migration.ts";
import { validateSubdomain } from "../api/names.ts";
import { parseDuration } from "../golang/time.ts";
import type { Client } from "../kube/client.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { listClusterCatalogs } from "../sources/clusterCatalogs.ts";
import { compareText } from "../text/compare.ts";
import { findBundleImage, formatAddBundle } from "./bundleImages.ts";
import { CatalogOffers } from "./catalogOffers.ts";
import { findSourceFault, type OlmV0CatalogSource, parseCatalogSource, toClusterCatalog } from "./catalogSource.ts";
import { parseInstalledCsv } from "./clusterServiceVersion.ts";
import { type OlmV0Cluster, readOlmV0Cluster } from "./olmV0Cluster.ts";
import { listInstallPlans } from "./plannedObjects.ts";
import { parseSubscription, type Subscription } from "./subscription.ts";

/** The CatalogSources to check, and the options of the check. */
export interface SourcesRequest {
  readonly client: Client;
  readonly reader: Pick<BundleReader, "catalogImage">;
  /** Names; empty for all. */
  readonly names: readonly string[];
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** Name of the ClusterCatalog. Default: the name of the CatalogSource. */
  readonly catalogName: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (what: string) => void;
}

/** A CatalogSource and the result of its migration. */
export interface SurveyedSource {
  readonly source: OlmV0CatalogSource;
  /**
   * The state:
   * - Convertible: the CatalogSource can be converted to `catalog`
   * - Present: a ClusterCatalog already has the same image
   * - Conflict: another ClusterCatalog has the same name
   * - Refused: the CatalogSource cannot be converted
   */
  readonly state: "Convertible" | "Present" | "Conflict" | "Refused";
  /** The reason for Present, Conflict or Refused. */
  readonly text: string;
  /** Suggested action; empty if there is none. */
  readonly next: string;
  readonly catalog?: ClusterCatalog;
  /** Notes about settings that a ClusterCatalog does not support, and about installed bundles that the image does not contain. */
  readonly notes: readonly string[];
}

/**
 * Checks whether CatalogSources can be converted to ClusterCatalogs. Writes nothing. Pulls the images of convertible CatalogSources, to check whether
 * they contain the bundles that Subscriptions installed from them.
 * @throws Error if a requested CatalogSource does not exist, or if the cluster does not have OLM v0
 */
export async function surveySources(request: SourcesRequest): Promise<SurveyedSource[]> {
  const { client, names, namespace, signal, report } = request;
  report("reading CatalogSources");
  const cluster = await readOlmV0Cluster(client, signal);
  const catalogs = await listClusterCatalogs(client, signal);
  const sources = cluster.sources
    .map(parseCatalogSource)
    .filter((one) => (namespace === undefined || one.namespace === namespace) && (names.length === 0 || names.includes(one.name)));
  const missing = names.filter((name) => !sources.some((one) => one.name === name));
  if (missing.length > 0)
    throw new Error(`no CatalogSource ${missing.map((name) => `"${name}"`).join(", ")} found: to list all, run olmv1 migrate catalogs`);
  if (request.catalogName !== undefined && sources.length > 1)
    throw new Error("--name requires exactly one CatalogSource: set its name, and its namespace with -n");
  const found: SurveyedSource[] = [];
  const sorted = sources.toSorted((a, b) => compareText(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`));
  for (const source of sorted) {
    const taken = [...catalogs, ...found.flatMap(({ catalog }) => catalog ?? [])];
    found.push(await surveyedSource(request, { source, catalogs: taken, cluster }));
  }
  return found;
}

interface SourceSurveyInput {
  readonly source: OlmV0CatalogSource;
  /** Existing ClusterCatalogs, and those to which previous CatalogSources are converted. */
  readonly catalogs: readonly ClusterCatalog[];
  readonly cluster: OlmV0Cluster;
}

async function surveyedSource(request: SourcesRequest, { source, catalogs, cluster }: SourceSurveyInput): Promise<SurveyedSource> {
  const { image, name: own, pollInterval } = source;
  const name = request.catalogName ?? own;
  const fault = findSourceFault(source);
  const from = cluster.subscriptions
    .flatMap(readable)
    .filter((one) => one.source === source.name && one.sourceNamespace === source.namespace);
  if (fault || image === undefined) {
    const notes = await listInstalledBundles(request, from);
    return { source, state: "Refused", text: fault?.text ?? "", next: fault?.next ?? "", notes };
  }
  const same = catalogs.find(({ spec }) => spec.source.image?.ref === image);
  if (same)
    return { source, state: "Present", text: `ClusterCatalog "${same.metadata.name}" already has the same image`, next: "", notes: [] };
  const converted = catalogs.find(
    ({ metadata }) => metadata.annotations?.[ANNOTATION_MIGRATED_FROM_SOURCE] === `${source.namespace}/${own}`,
  );
  if (converted)
    return {
      source,
      state: "Present",
      text: `ClusterCatalog "${converted.metadata.name}" was created from this CatalogSource, and now has image ${converted.spec.source.image?.ref ?? "(none)"}`,
      next: "",
      notes: [],
    };
  const problems = validateSubdomain(name);
  if (problems.length > 0)
    return {
      source,
      state: "Conflict",
      text: `invalid ClusterCatalog name "${name}": ${problems.join("; ")}`,
      next: "choose another name with --name",
      notes: [],
    };
  const other = catalogs.find(({ metadata }) => metadata.name === name);
  if (other)
    return {
      source,
      state: "Conflict",
      text: `ClusterCatalog "${name}" already exists with image ${other.spec.source.image?.ref ?? "(none)"}`,
      next: "choose another name with --name",
      notes: [],
    };
  const intervalMs = pollInterval === undefined ? undefined : parseDuration(pollInterval);
  const { catalog, notes } = toClusterCatalog(source, { name, image, intervalMs });
  return {
    source,
    state: "Convertible",
    text: "",
    next: "",
    catalog,
    notes: [...notes, ...(await findMissingBundles(request, { source, image, from, cluster }))],
  };
}

const UNUSED = "no Subscription uses this CatalogSource";

/** Returns one sentence for each bundle that Subscriptions installed from a CatalogSource without an image: the image of the bundle, if it is known. */
async function listInstalledBundles({ client, signal }: SourcesRequest, from: readonly Subscription[]): Promise<string[]> {
  const notes: string[] = [];
  for (const { namespace, name, installedCsv, channel } of from) {
    if (installedCsv === undefined) continue;
    const bundleImage = findBundleImage(await listInstallPlans(client, namespace, signal), installedCsv);
    const how = bundleImage === undefined ? "its image is unknown" : formatAddBundle(bundleImage, channel);
    notes.push(`Subscription ${namespace}/${name} installed "${installedCsv}": ${how}`);
  }
  return from.length === 0 ? [UNUSED] : notes;
}

interface ConvertibleSource {
  readonly source: OlmV0CatalogSource;
  readonly image: string;
  /** The Subscriptions of the CatalogSource. */
  readonly from: readonly Subscription[];
  readonly cluster: OlmV0Cluster;
}

/** Returns one sentence for each installed bundle of a CatalogSource that its image no longer contains, or the reason why this is unknown. */
async function findMissingBundles(request: SourcesRequest, { source, image, from, cluster }: ConvertibleSource): Promise<string[]> {
  const { client, reader, signal, report } = request;
  if (from.length === 0) return [UNUSED];
  const packages = new Set(from.map(({ packageName }) => packageName));
  const images = { catalogFolder: (ref: string): Promise<string> => reader.catalogImage(ref) };
  const offers = await CatalogOffers.read(client, { given: [`${source.name}=${image}`], packages, reader: images, signal, report });
  const versions = new Map(
    cluster.csvs.map((csv) => [`${csv.metadata.namespace ?? ""}/${csv.metadata.name}`, parseInstalledCsv(csv).version]),
  );
  const unread = offers.of("", undefined).unread.map((text) => `cannot check whether the image contains the installed bundles: ${text}`);
  if (unread.length > 0) return unread;
  return from.flatMap(({ namespace, name, packageName, installedCsv }) => {
    if (installedCsv === undefined) return [];
    const { catalogs, bundles } = offers.of(packageName, installedCsv);
    if (bundles.length > 0) return [];
    const version = versions.get(`${namespace}/${installedCsv}`);
    const what =
      catalogs.length === 0 ? `package "${packageName}"` : `"${installedCsv}"${version === undefined ? "" : `, version ${version}`}`;
    return [
      `the image does not contain ${what}, which Subscription ${namespace}/${name} installed: the Subscription cannot be converted with this catalog`,
    ];
  });
}

function readable(object: OlmV0Cluster["subscriptions"][number]): Subscription[] {
  try {
    return [parseSubscription(object)];
  } catch {
    return []; // `migrate check` reports this
  }
}
