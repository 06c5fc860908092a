import { API_VERSION, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../../api/constants.ts";
import { readSuggestedNamespace } from "../../bundle/suggestedNamespace.ts";
import { type DetailedApi, MAX_IMAGES, MAX_VERSIONS, type PackageDetails, type PackageVersion } from "../../consoleapi/packages.ts";
import { listProperties } from "../../fbc/summary/bundleSummary.ts";
import { readCsvMetadata } from "../../fbc/summary/csvMetadata.ts";
import { sortBundlesByVersion } from "../../fbc/summary/packageData.ts";
import type { Meta } from "../../fbc/types.ts";
import { formatPlatformSupport, formatSupportPhase, isSupported } from "../../fbc/versionSupport.ts";
import { toYaml } from "../../golang/yaml.ts";
import { quoteShellWord } from "../../text/shell.ts";
import { buildPackageView, type PackageView, VersionSummaries, type VersionSummary, type ViewedPackage } from "./packageView.ts";

/** Maximum number of dependencies. */
const MAX_DEPENDENCIES = 500;
/** Characters that a terminal or a reader could misunderstand. */
const INVISIBLE = /\p{C}/u;

/** Returns the description of a package and one of its versions for pages. All lists are bounded. */
export function buildPackageDetails(viewed: ViewedPackage, alsoIn: PackageView["alsoIn"]): PackageDetails {
  const { facts, bundle, meta } = viewed;
  const view = buildPackageView(viewed, alsoIn);
  const { channels } = view;
  const suggestedNamespace = suggestNamespace(facts.name, meta);
  const isDefault = ({ name }: { name: string }): boolean => name === view.defaultChannel;
  const summaries = new VersionSummaries(viewed, { when: viewed.when });
  return {
    package: view.package,
    catalog: view.catalog,
    displayName: view.displayName,
    description: view.description,
    longDescription: view.longDescription,
    provider: view.provider,
    keywords: view.keywords ?? [],
    categories: view.categories ?? [],
    maturity: view.maturity,
    certified: view.certified,
    support: view.support,
    repository: view.repository,
    links: view.links.flatMap(({ name, url }) => (isWebAddress(url) ? [{ name: name === "" ? url : name, url }] : [])),
    maintainers: [...view.maintainers],
    deprecated: view.deprecated,
    defaultChannel: view.defaultChannel,
    channels: [...channels.filter(isDefault), ...channels.filter((one) => !isDefault(one))].map(({ name, heads, entries, deprecated }) => ({
      name,
      heads,
      entries,
      deprecated,
    })),
    versions: sortBundlesByVersion(facts.bundles)
      .slice(0, MAX_VERSIONS)
      .map((one) => toPackageVersion(summaries.summarize(one))),
    versionCount: facts.bundleCount,
    defaultVersion: view.defaultVersion,
    latestVersion: view.latestVersion,
    suggestedNamespace,
    described: describeVersion(view),
    alsoIn: [...alsoIn],
    install: describeInstall(view, suggestedNamespace, bundle.version),
  };
}

/** Returns one of the versions of a package, with the channels that contain it. */
function toPackageVersion(summary: VersionSummary): PackageVersion {
  const { catalog: _, support, ...row } = summary;
  return {
    ...row,
    channels: [...row.channels],
    headOf: [...row.headOf],
    ...(support
      ? { support: { text: formatSupportPhase(support), isSupported: isSupported(support), platform: formatPlatformSupport(support) } }
      : {}),
  };
}

/** Returns the description of the described version. */
function describeVersion(view: PackageView): PackageDetails["described"] {
  const { version } = view;
  return {
    bundle: version.bundle,
    version: version.version,
    release: version.release,
    image: version.image,
    containerImage: version.containerImage,
    createdAt: version.createdAt,
    relatedImages: version.relatedImages.slice(0, MAX_IMAGES),
    channels: [...version.channels],
    deprecated: version.deprecated,
    capability: version.capability,
    installModes: version.installModes,
    architectures: version.architectures,
    operatingSystems: version.operatingSystems,
    infrastructureFeatures: version.infrastructureFeatures,
    minKubeVersion: version.minKubeVersion,
    maxOpenShiftVersion: version.maxOpenShiftVersion,
    provided: describeApis(version.providedAPIs, view),
    required: describeApis(version.requiredAPIs),
    dependencies: [...new Set(version.requires)].slice(0, MAX_DEPENDENCIES),
    exampleKinds: [...new Set(view.exampleKinds ?? [])].filter((kind) => kind !== ""),
  };
}

/** Returns the namespace that a version suggests for its installation. */
function suggestNamespace(packageName: string, meta: Meta | undefined): string {
  const annotations = (meta && readCsvMetadata(listProperties(meta))?.annotations) ?? {};
  const texts = Object.entries(annotations).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return readSuggestedNamespace(packageName, Object.fromEntries(texts)).name;
}

/** Reports whether an address is absolute and of the web, so that a link with it cannot run a script. */
function isWebAddress(address: string): boolean {
  const protocol = URL.parse(address)?.protocol;
  return protocol === "http:" || protocol === "https:";
}

/** Splits APIs of the form `group/version/kind`, with their descriptions. */
function describeApis(apis: readonly string[], { provided = [] }: Partial<Pick<PackageView, "provided">> = {}): DetailedApi[] {
  return apis.map((api) => {
    const [group = "", version = "", kind = ""] = api.split("/");
    const described = provided.find((one) => one.kind === kind && one.group === group && one.version === version);
    return { group, version, kind, displayName: described?.displayName, description: described?.description };
  });
}

/**
 * Returns how to install the described version. The default version gets a range with later versions, so that upgrades are installed; another
 * version is selected exactly.
 */
function describeInstall(
  { package: name, catalog, defaultVersion }: PackageView,
  namespace: string,
  version: string | undefined,
): PackageDetails["install"] {
  const range = version === undefined ? undefined : version === defaultVersion ? `>=${version}` : version;
  const words = ["olmv1", "install", name, "--catalog", catalog, ...(range === undefined ? [] : ["--version", range])];
  const spec = {
    namespace,
    source: {
      sourceType: "Catalog",
      catalog: {
        packageName: name,
        ...(range === undefined ? {} : { version: range }),
        selector: { matchLabels: { [LABEL_METADATA_NAME]: catalog } },
      },
    },
  };
  return {
    ...(range === undefined ? {} : { range }),
    ...(words.some((word) => INVISIBLE.test(word)) ? {} : { command: words.map(quoteShellWord).join(" ") }),
    yaml: toYaml({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name }, spec }),
  };
}
