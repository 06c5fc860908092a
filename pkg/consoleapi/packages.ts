import * as z from "zod/mini";

// catalogd and the console return packages in the same form, so that the same pages show both. Descriptions become part of catalogd's reference.

const text = (description: string): z.ZodMiniString => z.string().check(z.describe(description));
const optional = (description: string): z.ZodMiniOptional<z.ZodMiniString> => z.optional(text(description));
const texts = (description: string): z.ZodMiniArray<z.ZodMiniString> => z.array(z.string()).check(z.describe(description));

/** Maximum number of versions in a package. */
export const MAX_VERSIONS = 5_000;
/** Maximum number of images of a version. */
export const MAX_IMAGES = 500;

const stated = {
  bundle: text("bundle name"),
  version: optional("declared version; absent if missing or invalid"),
  release: optional("declared release; otherwise the build metadata of the version, if it is a valid release"),
};

/** A version of a package. */
export const PackageVersion = z
  .object({
    ...stated,
    channels: texts("channels that contain the version"),
    headOf: texts("channels whose head is the version"),
    createdAt: optional("declared creation time"),
    deprecated: optional("why the version, its package, or all of its channels are deprecated"),
    support: z.optional(
      z
        .object({
          text: text("support phase and its last day, or `unknown`"),
          isSupported: z.boolean().check(z.describe("whether the version is in a support phase and supports the version of the cluster")),
          platform: optional("supported OpenShift versions"),
        })
        .check(z.describe("Support of the version today, if the catalog has support phases of the package; only in the console.")),
    ),
    installedBy: z.optional(texts("ClusterExtensions that installed the version; only in the console")),
  })
  .check(z.meta({ id: "PackageVersion", description: "A version of a package." }));
export type PackageVersion = z.infer<typeof PackageVersion>;

/** A channel of a package. */
const DetailedChannel = z
  .object({
    name: text("channel name"),
    heads: z
      .array(z.object(stated).check(z.describe("A bundle and its version.")))
      .check(z.describe("bundles that no channel entry replaces or skips; a valid channel has exactly one")),
    entries: z.int().check(z.describe("number of entries in the channel")),
    deprecated: optional("why the channel is deprecated"),
  })
  .check(z.meta({ id: "DetailedChannel", description: "A channel of a package." }));

/** An API that a version provides or requires. */
const DetailedApi = z
  .object({
    group: text("API group"),
    version: text("API version"),
    kind: text("kind"),
    displayName: optional("display name"),
    description: optional("description"),
  })
  .check(z.meta({ id: "DetailedApi", description: "An API that a version provides or requires." }));
export type DetailedApi = z.infer<typeof DetailedApi>;

/** The described version of a package. */
const DescribedVersion = z
  .object({
    ...stated,
    image: optional("reference of the bundle image"),
    containerImage: optional("declared operator image"),
    createdAt: optional("declared creation time"),
    relatedImages: texts(`images that the version uses, at most ${MAX_IMAGES}`),
    channels: texts("channels that contain the version"),
    deprecated: optional("why the version is deprecated"),
    capability: optional("capability level, such as `Auto Pilot`"),
    installModes: texts("names of the supported install modes"),
    architectures: texts("supported architectures"),
    operatingSystems: texts("supported operating systems"),
    infrastructureFeatures: texts("declared features, such as `disconnected`"),
    minKubeVersion: optional("oldest supported Kubernetes version"),
    maxOpenShiftVersion: optional("newest supported OpenShift minor version"),
    provided: z.array(DetailedApi).check(z.describe("provided APIs")),
    required: z.array(DetailedApi).check(z.describe("APIs that other bundles must provide")),
    dependencies: texts("descriptions of the other dependencies"),
    exampleKinds: texts("kinds with an example"),
  })
  .check(z.meta({ id: "DescribedVersion", description: "The described version of a package." }));

/** A package with one of its versions. */
export const PackageDetails = z
  .object({
    package: text("package name"),
    catalog: text("ClusterCatalog name"),
    displayName: optional("display name"),
    description: optional("short description"),
    longDescription: optional("full description, usually Markdown; untrusted"),
    provider: optional("provider name"),
    keywords: texts("keywords for search"),
    categories: texts("categories"),
    maturity: optional("such as `alpha` or `stable`"),
    certified: z.optional(z.boolean().check(z.describe("whether the package is declared as certified"))),
    support: optional("support provider name"),
    repository: optional("address of the source repository"),
    links: z
      .array(z.object({ name: text("text of the link"), url: text("address, with scheme http or https") }).check(z.describe("A link.")))
      .check(z.describe("links of the version")),
    maintainers: z
      .array(z.object({ name: text("name"), email: optional("email address") }).check(z.describe("A maintainer.")))
      .check(z.describe("maintainers of the version")),
    deprecated: optional("why the package is deprecated"),
    defaultChannel: optional("channel for users without a preference"),
    channels: z.array(DetailedChannel).check(z.describe("the default channel first, then in catalog order")),
    versions: z.array(PackageVersion).check(z.describe(`versions, highest first, at most ${MAX_VERSIONS}`)),
    versionCount: z.int().check(z.describe("number of all versions")),
    defaultVersion: optional("default version to install"),
    latestVersion: optional("latest version, deprecated or not"),
    suggestedNamespace: text("namespace for an installation"),
    described: DescribedVersion,
    alsoIn: z
      .array(
        z
          .object({ catalog: text("ClusterCatalog name"), version: optional("default version in that catalog") })
          .check(z.describe("Another catalog.")),
      )
      .check(z.describe("other catalogs with the package; catalogd does not list them")),
    install: z
      .object({
        range: optional("version range that selects the described version"),
        command: optional("command that installs the described version; absent if a name has invisible characters"),
        yaml: text("ClusterExtension that installs the described version"),
      })
      .check(z.describe("How to install the described version.")),
    installed: z.optional(
      z
        .array(
          z
            .object({ extension: text("ClusterExtension name"), version: text("installed version"), catalog: optional("its catalog") })
            .check(z.describe("An installation.")),
        )
        .check(z.describe("installations of the package; only in the console")),
    ),
    obstacles: z.optional(texts("why you cannot install the default version on the cluster; only in the console")),
  })
  .check(z.meta({ id: "PackageDetails", description: "A package with one of its versions. Unknown values are omitted." }));
export type PackageDetails = z.infer<typeof PackageDetails>;

/** A package in search results. */
export const PackageCard = z.object({
  package: z.string(),
  catalog: z.string(),
  displayName: z.optional(z.string()),
  /** At most 1,024 characters. */
  description: z.optional(z.string()),
  provider: z.optional(z.string()),
  /** The version that a new installation gets, or the highest matching version. */
  version: z.optional(z.string()),
  capability: z.optional(z.string()),
  isDeprecated: z.boolean(),
  /** Support of the version; absent if the catalog has no support phases of the package. */
  support: z.optional(z.object({ text: z.string(), isSupported: z.boolean() })),
  /** Extensions that installed the package; absent if unknown. */
  installedBy: z.optional(z.array(z.string())),
  /** Why the user cannot install it on the cluster; absent if unknown. */
  obstacles: z.optional(z.array(z.string())),
});
export type PackageCard = z.infer<typeof PackageCard>;

/** Names of the filters of a search, which are also parameters of the page's address. */
export const PackageFilters = z.object({
  text: z.optional(z.string().check(z.maxLength(256))),
  catalog: z.optional(z.string().check(z.maxLength(253))),
  arch: z.optional(z.string().check(z.maxLength(63))),
  capability: z.optional(z.string().check(z.maxLength(64))),
  deprecated: z.optional(z.enum(["true", "false"])),
  /** Only packages with an installed version. */
  installed: z.optional(z.literal("true")),
  /** Only packages that the user can install on the cluster. */
  installable: z.optional(z.literal("true")),
  /** Only packages with a supported version. */
  supported: z.optional(z.literal("true")),
  /** Only packages whose shown version the cluster accepts only with a signature. */
  signed: z.optional(z.literal("true")),
});
export type PackageFilters = z.infer<typeof PackageFilters>;

/** A page of search results. */
export const PackagePage = z.object({
  /** Best match first, at most 200. */
  items: z.array(PackageCard),
  total: z.number(),
  /** Position of the next page; absent on the last page. */
  next: z.optional(z.string()),
  /** Catalogs that were not searched, with the reason. */
  leftOut: z.array(z.object({ catalog: z.string(), reason: z.string() })),
  /** Why it is unknown which packages need a signature; only with the filter for them, which then finds none. */
  signaturesUnknown: z.optional(z.string()),
  /** Names of the searched catalogs. */
  catalogs: z.array(z.string()),
});
export type PackagePage = z.infer<typeof PackagePage>;

/** The icon of a package. */
export const PackageIcon = z.object({
  /** Data URL of an image; absent if the package has no icon that pages may show. */
  icon: z.optional(z.string()),
});
export type PackageIcon = z.infer<typeof PackageIcon>;

/** A drawing of the upgrade graph of a package. */
export const PackagePicture = z.object({ /** Data URL of an image. */ picture: z.string() });
export type PackagePicture = z.infer<typeof PackagePicture>;
