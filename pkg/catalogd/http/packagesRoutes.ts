import * as z from "zod";
import type { AnyVersion, ChannelSummary, HeadSummary, NamedVersion, PackageSummary } from "../../fbc/summary/packageSummary.ts";
import type { CatalogContent, DerivedArtifact } from "../store/content.ts";
import { allResponse, type ContentRequest, metasResponse } from "./contentResponse.ts";
import { type ContentRouteDependencies, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import type { ContentResponse } from "./response.ts";
import { CatalogPath, type CatalogServer, type Operation } from "./route.ts";

const text = (description: string): z.ZodOptional<z.ZodString> => z.string().optional().describe(description);
const texts = (description: string): z.ZodArray<z.ZodString> => z.array(z.string()).describe(description);

/** A bundle by name, with the version that it states. */
export const namedVersionShape = {
  bundle: z.string().describe("name of the bundle"),
  version: text("its version as it states it; absent where it has none that can be read"),
  release: text("its release: the one that it states, or else build metadata of the version that can be one"),
};

const Named: z.ZodType<NamedVersion> = z.object(namedVersionShape).meta({ id: "NamedVersion", description: "A bundle and its version." });

const supportShape = {
  architectures: texts("machine architectures that it supports; `amd64` where it names none"),
  operatingSystems: texts("operating systems that it supports; `linux` where it names none"),
  infrastructureFeatures: texts(
    "such as `disconnected`, `fips-compliant`, `proxy-aware`: features that its annotations claim, in whichever of the two spellings",
  ),
  installModes: texts("names of the install modes that it supports"),
};

const Channel: z.ZodType<ChannelSummary> = z
  .object({
    name: z.string().describe("name of the channel"),
    heads: z.array(Named).describe("what nothing in the channel replaces or skips: one bundle in a sound channel"),
    entries: z.number().int().describe("how many entries the channel has"),
    deprecated: text("why the channel is deprecated"),
  })
  .meta({ id: "PackageChannel", description: "A channel of a package." });

const Head: z.ZodType<HeadSummary> = z
  .object({
    ...namedVersionShape,
    channel: text("a channel that the bundle is the head of: the default channel, else the first in the catalog's order"),
    deprecated: text("why the bundle is deprecated"),
    capability: text("how much it can do, such as `Basic Install` or `Auto Pilot`"),
    ...supportShape,
    minKubeVersion: text("oldest Kubernetes that it runs on"),
    maxOpenShiftVersion: text("newest OpenShift minor that it runs on"),
    containerImage: text("image of the Operator, as its author tells it"),
    createdAt: text("when it was made, as its author tells it"),
    relatedImages: z.number().int().describe("how many images it is made of"),
    providedAPIs: texts("APIs that it provides, each `group/version/kind`"),
    requiredAPIs: texts("APIs that something else has to provide"),
  })
  .meta({ id: "PackageHead", description: "The default version to install, which a package is presented by." });

const Any: z.ZodType<AnyVersion> = z
  .object({ capabilities: texts("capability levels of its versions"), ...supportShape })
  .meta({ id: "AnyVersion", description: "What at least one version of a package supports, in whatever channel it is." });

/** One line of the list of packages. */
export const PackageLine: z.ZodType<PackageSummary> = z
  .object({
    package: z.string().describe("name of the package"),
    digest: z.string().describe("`sha256:…`; another one exactly when a meta of the package was added, changed or removed"),
    displayName: text("name for people"),
    description: text("what it does, in a few lines"),
    provider: text("who makes it"),
    keywords: z.array(z.string()).optional().describe("words to find it by"),
    categories: z.array(z.string()).optional().describe("categories that it is listed in"),
    maturity: text("such as `alpha` or `stable`"),
    certified: z.boolean().optional().describe("whether it says that it is certified"),
    support: text("who gives support"),
    repository: text("where its source lives"),
    icon: z.boolean().describe("whether the catalog has an icon: it stands in the package's `olm.package`"),
    defaultChannel: text("channel that is meant for users without a preference"),
    deprecated: text("why the package is deprecated"),
    channels: z.array(Channel).describe("in the catalog's order"),
    bundles: z.number().int().describe("how many bundles there are"),
    versions: texts("their versions, the highest first"),
    deprecatedBundles: z
      .array(z.object({ bundle: z.string().describe("name of the bundle"), message: z.string().describe("why it is deprecated") }))
      .optional()
      .describe("bundles that are deprecated"),
    head: Head.optional(),
    latest: Named.optional().describe("the latest version, deprecated or not"),
    anyVersion: Any,
    incomplete: z.literal(true).optional().describe("true where a list had to be cut since the package is huge"),
  })
  .meta({
    id: "Package",
    description:
      "A package of a catalog. It is presented by its default version to install, which resolution chooses where nothing limits it: not deprecated before " +
      "deprecated, then the highest version, whatever channel it is in. What is not known is left out.",
  });

/** One line of the list of properties. */
export const PropertiesLine = z
  .object({
    package: z.string().describe("name of the package"),
    ...namedVersionShape,
    image: text("pull reference of the bundle's image"),
    properties: z
      .array(z.object({ type: z.string().describe("such as `olm.gvk.required`"), value: z.unknown().describe("depends on the type") }))
      .describe("as the catalog has them, without those of type `olm.bundle.object` and `olm.csv.metadata`"),
  })
  .meta({ id: "BundleProperties", description: "What a bundle says to a dependency solver." });

const name = z.string().min(1).max(1_024).optional();
const PackagesQuery = z.strictObject({ package: name.describe("only this package; without it, all in order of their names") });
const PropertiesQuery = z.strictObject({
  package: name.describe("only bundles of this package"),
  name: name.describe("only bundles of this name"),
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
          "As JSON Lines, one package a line: what a list of Operators shows of it, and a digest that tells whether anything of the package has changed. " +
          "Without a parameter, conditional requests and ranges work as on a static file, and it comes compressed without cost to the server.",
        responses: responsesWith("The packages; an unknown package is an empty body.", PackageLine),
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
          "As JSON Lines, one bundle a line, in the order of the catalog: what a dependency solver reads, a small part of the metas. " +
          "Without a parameter, conditional requests and ranges work as on a static file, and it comes compressed without cost to the server.",
        responses: responsesWith("The bundles that match; none is an empty body.", PropertiesLine),
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
    206: { description: "The wanted ranges of them.", content: { "application/jsonl": undefined, "multipart/byteranges": undefined } },
    304: { description: "They are those that the client knows." },
    412: { description: "They are not those that the request is about." },
    416: { description: "They do not have these ranges." },
  };
}

/** What of a request for an artifact matters. */
interface ArtifactRequest extends ContentRequest {
  readonly query: { readonly package?: string | undefined; readonly name?: string | undefined };
}

/** Returns the whole artifact where the query is empty, else the lines that match. @throws ProblemError when the content does not have the artifact. */
async function artifactResponse(
  content: CatalogContent,
  name: DerivedArtifact,
  request: ArtifactRequest,
  { cache }: ContentRouteDependencies,
): Promise<ContentResponse> {
  const { query } = request;
  const artifact = content.artifacts.get(name);
  if (!artifact)
    throw new ProblemError("CatalogNotLoaded", `the ${name} of ${content.origin.digest} have not been collected yet; try again`);
  const whole = query.package === undefined && query.name === undefined;
  if (whole) return allResponse({ content, artifact }, request);
  return metasResponse({ content, artifact }, query, request, cache);
}
