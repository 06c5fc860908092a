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
  bundle: z.string().describe("name of the bundle"),
  version: text("its declared version; absent if it is missing or invalid"),
  release: text("its release: the declared one, or else build metadata of the version that is a valid release"),
};

const Named: z.ZodType<NamedVersion> = z.object(namedVersionShape).meta({ id: "NamedVersion", description: "A bundle and its version." });

const supportShape = {
  architectures: texts("supported machine architectures; `amd64` if none are declared"),
  operatingSystems: texts("supported operating systems; `linux` if none are declared"),
  infrastructureFeatures: texts(
    "such as `disconnected`, `fips-compliant`, `proxy-aware`: features that its annotations declare, in either spelling ",
  ),
  installModes: texts("names of the supported install modes"),
};

const Channel: z.ZodType<ChannelSummary> = z
  .object({
    name: z.string().describe("name of the channel"),
    heads: z.array(Named).describe("bundles that no entry in the channel replaces or skips: one bundle in a valid channel"),
    entries: z.number().int().describe("number of entries in the channel"),
    deprecated: text("why the channel is deprecated"),
  })
  .meta({ id: "PackageChannel", description: "A channel of a package." });

const Head: z.ZodType<HeadSummary> = z
  .object({
    ...namedVersionShape,
    channel: text("a channel whose head is the bundle: the default channel, else the first in the catalog's order"),
    deprecated: text("why the bundle is deprecated"),
    capability: text("its capability level, such as `Basic Install` or `Auto Pilot`"),
    ...supportShape,
    minKubeVersion: text("oldest supported Kubernetes version"),
    maxOpenShiftVersion: text("newest supported OpenShift minor version"),
    containerImage: text("image of the operator, as declared by its author"),
    createdAt: text("when it was created, as declared by its author"),
    relatedImages: z.number().int().describe("number of images that it uses"),
    providedAPIs: texts("APIs that it provides, each `group/version/kind`"),
    requiredAPIs: texts("APIs that it requires from other bundles"),
  })
  .meta({ id: "PackageHead", description: "The default version to install, which represents the package." });

const Any: z.ZodType<AnyVersion> = z
  .object({ capabilities: texts("capability levels of its versions"), ...supportShape })
  .meta({ id: "AnyVersion", description: "Features that at least one version of a package supports, in any channel." });

/** One line of the list of packages. */
export const PackageLine: z.ZodType<PackageSummary> = z
  .object({
    package: z.string().describe("name of the package"),
    digest: z.string().describe("`sha256:…`; changes exactly when a meta of the package is added, changed or removed"),
    displayName: text("display name"),
    description: text("a short description"),
    provider: text("name of the provider"),
    keywords: z.array(z.string()).optional().describe("keywords for search"),
    categories: z.array(z.string()).optional().describe("its categories"),
    maturity: text("such as `alpha` or `stable`"),
    certified: z.boolean().optional().describe("whether it declares that it is certified"),
    support: text("name of the support provider"),
    repository: text("URL of its source repository"),
    icon: z.boolean().describe("whether the catalog has an icon, which is in the package's `olm.package`"),
    defaultChannel: text("channel for users without a preference"),
    deprecated: text("why the package is deprecated"),
    channels: z.array(Channel).describe("in the order of the catalog"),
    bundles: z.number().int().describe("number of bundles"),
    versions: texts("their versions, highest first"),
    deprecatedBundles: z
      .array(z.object({ bundle: z.string().describe("name of the bundle"), message: z.string().describe("why it is deprecated") }))
      .optional()
      .describe("bundles that are deprecated"),
    head: Head.optional(),
    latest: Named.optional().describe("the latest version, deprecated or not"),
    anyVersion: Any,
    incomplete: z.literal(true).optional().describe("true if a list was truncated because the package is very large"),
  })
  .meta({
    id: "Package",
    description:
      "A package of a catalog. It is represented by its default version to install, which resolution chooses without constraints: not deprecated before " +
      "deprecated, then the highest version, in any channel. Unknown values are omitted.",
  });

/** One line of the list of properties. */
export const PropertiesLine = z
  .object({
    package: z.string().describe("name of the package"),
    ...namedVersionShape,
    image: text("pull reference of the bundle's image"),
    properties: z
      .array(
        z.object({
          type: z.string().describe("such as `olm.gvk.required`"),
          value: z.unknown().describe("the format depends on the type"),
        }),
      )
      .describe("as in the catalog, without properties of type `olm.bundle.object` and `olm.csv.metadata`"),
  })
  .meta({ id: "BundleProperties", description: "The properties of a bundle for a dependency solver." });

const name = z.string().min(1).max(1_024).optional();
const PackagesQuery = z.strictObject({ package: name.describe("only this package; default: all packages, sorted by name") });
const PropertiesQuery = z.strictObject({
  package: name.describe("only bundles of this package"),
  name: name.describe("only bundles with this name"),
});

/** Registers the endpoints that list packages and properties of one catalog. */
export function registerPackagesRoutes(server: CatalogServer, dependencies: ContentRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs/:catalog/packages",
    schema: { params: CatalogPath, querystring: PackagesQuery },
    config: {
      failures: "problem",
      operation: {
        id: "listPackages",
        summary: "The packages of a catalog",
        description:
          "As JSON Lines, one package per line: the summary for a list of operators, and a digest that shows whether the package has changed. " +
          "Without a parameter, conditional requests and ranges work as for a static file, and the response is compressed without cost to the server.",
        responses: responsesWith("The packages; an empty body for an unknown package.", PackageLine),
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
        summary: "The properties of all bundles of a catalog",
        description:
          "As JSON Lines, one bundle per line, in the order of the catalog: the input of a dependency solver, a small part of the metas. " +
          "Without a parameter, conditional requests and ranges work as for a static file, and the response is compressed without cost to the server.",
        responses: responsesWith("The bundles that match; an empty body if none match.", PropertiesLine),
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
 * Returns the whole artifact for an empty query, otherwise the lines that match. @throws
 * ProblemError if the content does not have the artifact.
 */
async function artifactResponse(
  content: CatalogContent,
  name: DerivedArtifact,
  request: ArtifactRequest,
  { cache }: ContentRouteDependencies,
): Promise<ContentResponse> {
  const { query } = request;
  const artifact = content.artifacts.get(name);
  if (!artifact) throw new ProblemError("CatalogNotLoaded", `the ${name} of ${content.origin.digest} are not ready yet; try again`);
  const whole = query.package === undefined && query.name === undefined;
  if (whole) return respondWithAll({ content, artifact }, request);
  return respondWithMetas({ content, artifact }, query, request, cache);
}
