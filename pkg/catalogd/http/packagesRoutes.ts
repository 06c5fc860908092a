import * as z from "zod";
import type { AnyVersion, ChannelSummary, HeadSummary, NamedVersion, PackageSummary } from "../../fbc/summary/packageSummary.ts";
import type { CatalogContent, DerivedArtifact } from "../store/content.ts";
import { type ContentRequest, respondWithAll, respondWithMetas } from "./contentResponse.ts";
import { type ContentRouteDependencies, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import type { ContentResponse } from "./response.ts";
import { CatalogPath, type CatalogServer, type Operation } from "./route.ts";

const text = (description: string): z.ZodOptional<z.ZodString> => z.string().optional().describe(description);
const texts = (description: string): z.ZodArray<z.ZodString> => z.array(z.string()).describe(description);

/** A bundle by name, with its declared version. */
export const namedVersionShape = {
  bundle: z.string().describe("bundle name"),
  version: text("declared version; absent if missing or invalid"),
  release: text("declared release; otherwise the build metadata of the version, if it is a valid release"),
};

const Named: z.ZodType<NamedVersion> = z.object(namedVersionShape).meta({ id: "NamedVersion", description: "A bundle and its version." });

const supportShape = {
  architectures: texts("supported architectures; default `amd64`"),
  operatingSystems: texts("supported operating systems; default `linux`"),
  infrastructureFeatures: texts("features declared in annotations of either format, such as `disconnected`"),
  installModes: texts("names of the supported install modes"),
};

const Channel: z.ZodType<ChannelSummary> = z
  .object({
    name: z.string().describe("channel name"),
    heads: z.array(Named).describe("bundles that no channel entry replaces or skips; a valid channel has exactly one"),
    entries: z.number().int().describe("number of entries in the channel"),
    deprecated: text("why the channel is deprecated"),
  })
  .meta({ id: "PackageChannel", description: "A channel of a package." });

const Head: z.ZodType<HeadSummary> = z
  .object({
    ...namedVersionShape,
    channel: text("channel with the bundle as its head: the default channel if possible, otherwise the first one in catalog order"),
    deprecated: text("why the bundle is deprecated"),
    capability: text("capability level, such as `Auto Pilot`"),
    ...supportShape,
    minKubeVersion: text("oldest supported Kubernetes version"),
    maxOpenShiftVersion: text("newest supported OpenShift minor version"),
    containerImage: text("declared operator image"),
    createdAt: text("declared creation time"),
    relatedImages: z.number().int().describe("number of images that the bundle uses"),
    providedAPIs: texts("provided APIs, each `group/version/kind`"),
    requiredAPIs: texts("APIs that other bundles must provide"),
  })
  .meta({ id: "PackageHead", description: "The default version of the package." });

const Any: z.ZodType<AnyVersion> = z
  .object({ capabilities: texts("capability levels of the versions"), ...supportShape })
  .meta({ id: "AnyVersion", description: "Features of at least one version of the package." });

/** A line in the list of packages. */
export const PackageLine: z.ZodType<PackageSummary> = z
  .object({
    package: z.string().describe("package name"),
    digest: z.string().describe("`sha256:…`; changes whenever a meta of the package changes"),
    displayName: text("display name"),
    description: text("short description"),
    provider: text("provider name"),
    keywords: z.array(z.string()).optional().describe("keywords for search"),
    categories: z.array(z.string()).optional().describe("categories"),
    maturity: text("such as `alpha` or `stable`"),
    certified: z.boolean().optional().describe("whether the package is declared as certified"),
    support: text("support provider name"),
    repository: text("URL of the source repository"),
    icon: z.boolean().describe("whether `olm.package` has an icon"),
    defaultChannel: text("channel for users without a preference"),
    deprecated: text("why the package is deprecated"),
    channels: z.array(Channel).describe("in catalog order"),
    bundles: z.number().int().describe("number of bundles"),
    versions: texts("versions, highest first"),
    deprecatedBundles: z
      .array(z.object({ bundle: z.string().describe("bundle name"), message: z.string().describe("why the version is deprecated") }))
      .optional()
      .describe("deprecated bundles"),
    head: Head.optional(),
    latest: Named.optional().describe("latest version, deprecated or not"),
    anyVersion: Any,
    incomplete: z.literal(true).optional().describe("true if a list is truncated, because the package is very large"),
  })
  .meta({
    id: "Package",
    description:
      "A package and its default version to install: in any channel, the highest version that is not deprecated, otherwise the highest version. " +
      "Unknown values are omitted.",
  });

/** A line in the list of bundle properties. */
export const PropertiesLine = z
  .object({
    package: z.string().describe("package name"),
    ...namedVersionShape,
    image: text("reference of the bundle image"),
    properties: z
      .array(
        z.object({
          type: z.string().describe("such as `olm.gvk.required`"),
          value: z.unknown().describe("the format depends on the type"),
        }),
      )
      .describe("as in the catalog, without `olm.bundle.object` and `olm.csv.metadata`"),
  })
  .meta({ id: "BundleProperties", description: "The properties of a bundle for a dependency solver." });

const name = z.string().min(1).max(1_024).optional();
const PackagesQuery = z.strictObject({ package: name.describe("return only this package; default: all packages, sorted by name") });
const PropertiesQuery = z.strictObject({
  package: name.describe("return only bundles of this package"),
  name: name.describe("return only bundles with this name"),
});

/** Registers the endpoints that list the packages and bundle properties of one catalog. */
export function registerPackagesRoutes(server: CatalogServer, dependencies: ContentRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs/:catalog/packages",
    schema: { params: CatalogPath, querystring: PackagesQuery },
    config: {
      failures: "problem",
      operation: {
        id: "listPackages",
        summary: "Packages of a catalog",
        description:
          "JSON Lines, one package per line, with a summary and a digest that changes with the package. Without parameters, the server supports ranges and sends stored compressed files.",
        responses: responsesWith("The matching packages; empty if there are none.", PackageLine),
      },
    },
    handler: (request, reply) =>
      withContent(dependencies.source, request.params.catalog, async (content) =>
        reply.respond(await artifactResponse(content, "packages", request, dependencies)),
      ),
  });
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs/:catalog/properties",
    schema: { params: CatalogPath, querystring: PropertiesQuery },
    config: {
      failures: "problem",
      operation: {
        id: "listProperties",
        summary: "Properties of all bundles of a catalog",
        description:
          "JSON Lines, one bundle per line, in catalog order, as input for a dependency solver. Without parameters, the server supports ranges and sends stored compressed files.",
        responses: responsesWith("The matching bundles; empty if there are none.", PropertiesLine),
      },
    },
    handler: (request, reply) =>
      withContent(dependencies.source, request.params.catalog, async (content) =>
        reply.respond(await artifactResponse(content, "properties", request, dependencies)),
      ),
  });
}

function responsesWith(description: string, line: z.ZodType): Operation["responses"] {
  return {
    200: { description, content: { "application/jsonl": line } },
    206: {
      description: "The requested ranges of the content.",
      content: { "application/jsonl": undefined, "multipart/byteranges": undefined },
    },
    304: { description: "The content has not changed." },
    412: { description: "The content does not match the precondition." },
    416: { description: "The ranges are not satisfiable." },
  };
}

/** The parts of a request that select an artifact. */
interface ArtifactRequest extends ContentRequest {
  readonly query: { readonly package?: string | undefined; readonly name?: string | undefined };
}

/**
 * Returns the whole artifact for an empty query, otherwise the matching lines. @throws ProblemError
 * if the content does not have the artifact.
 */
async function artifactResponse(
  content: CatalogContent,
  name: DerivedArtifact,
  request: ArtifactRequest,
  { cache }: ContentRouteDependencies,
): Promise<ContentResponse> {
  const { query } = request;
  const artifact = content.artifacts.get(name);
  if (!artifact)
    throw new ProblemError(
      "CatalogNotLoaded",
      `the ${name} of catalog content ${content.origin.digest} are not available yet. Try again later`,
    );
  const whole = query.package === undefined && query.name === undefined;
  if (whole) return respondWithAll({ content, artifact }, request);
  return respondWithMetas({ content, artifact }, query, request, cache);
}
