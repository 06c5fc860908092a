import * as z from "zod";
import { isObject } from "../../api/jsonObject.ts";
import { packageContent } from "../../fbc/content.ts";
import { type BundleVersion, bundleVersion } from "../../fbc/graph/bundleVersion.ts";
import { aboveMinimum, UnknownMinimumError } from "../../fbc/graph/floor.ts";
import { mermaidGraph } from "../../fbc/graph/mermaid.ts";
import { svgGraph } from "../../fbc/graph/svg.ts";
import { type GraphSource, GraphTooLargeError, type UpdateGraph, updateGraph } from "../../fbc/graph/updateGraph.ts";
import { metaFrom } from "../../fbc/meta.ts";
import type { Meta } from "../../fbc/types.ts";
import type { CatalogContent } from "../store/content.ts";
import type { MetaQuery } from "../store/contentIndex.ts";
import type { StoredPart } from "../store/storedPart.ts";
import { type Answer, problemAnswer } from "./answer.ts";
import type { AnswerCache } from "./answerCache.ts";
import { readSelection } from "./contentAnswers.ts";
import { asked, type ContentRouteDependencies, ofContent } from "./contentRoutes.ts";
import { documentAnswer, documentOf } from "./documentAnswer.ts";
import { preferredType } from "./negotiate.ts";
import { routeWithQuery } from "./queryParameters.ts";
import type { Route, RouteRequest } from "./route.ts";

/** The forms of a graph and their media types; the first is the one for clients that do not say. */
const TYPES = { json: "application/json", mermaid: "text/vnd.mermaid", svg: "image/svg+xml" } as const;
type Format = keyof typeof TYPES;

/** More of a package than this is not read for a picture; the largest real one has some hundred kilobytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A picture is shown and does nothing else. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const Query = z.strictObject({
  format: z.enum(["json", "mermaid", "svg"]).optional().describe("form of the graph; without it the `Accept` header decides"),
  channel: z.array(z.string()).optional().describe("only this channel; may be repeated"),
  minimum: z.string().optional().describe("name of a bundle: only what is at or above its version"),
});
type Query = z.output<typeof Query>;

const Edge = z.object({
  from: z.string().describe("name of the bundle that is updated"),
  to: z.string().describe("name of the bundle that it is updated to"),
  type: z.enum(["replaces", "skips", "skipRange"]).describe("what of the entry `to` allows it"),
  range: z.string().optional().describe("the range of type `skipRange`, as the catalog writes it"),
});
const Node = z.object({
  name: z.string().describe("name of the bundle"),
  version: z.string().optional().describe("its version; absent when the catalog does not have the bundle"),
  head: z.literal(true).optional().describe("no entry of the channel replaces or skips it"),
  deprecated: z.string().optional().describe("the message of its deprecation"),
  absent: z.literal(true).optional().describe("an entry replaces or skips the name, but it is no entry of the channel"),
});
const Channel = z.object({
  name: z.string().describe("name of the channel"),
  deprecated: z.string().optional().describe("the message of its deprecation"),
  nodes: z.array(Node).describe("entries by falling version, then absent ones"),
  edges: z.array(Edge).describe("by the node they lead to, in the order of the nodes"),
});
const Graph = z
  .object({
    package: z.string().describe("name of the package"),
    defaultChannel: z.string().optional().describe("the channel that the package proposes"),
    deprecated: z.string().optional().describe("the message of the package's deprecation"),
    channels: z.array(Channel).describe("by name"),
  })
  .meta({ id: "UpdateGraph", description: "Which bundle of a package can be updated to which, channel by channel." });

/** The endpoint of a package's update graph. */
export function graphRoutes({ source, cache }: ContentRouteDependencies): Route[] {
  const route = routeWithQuery(Query, {
    path: "/api/v1/catalogs/{catalog}/packages/{package}/graph",
    methods: ["GET", "HEAD"],
    failures: "problem",
    operation: {
      id: "getUpdateGraph",
      summary: "The update graph of a package as JSON, Mermaid or SVG",
      description: "Every update that the catalog allows, with each `skipRange` resolved to the entries of its channel that are in it.",
      params: { package: z.string().describe("name of the package") },
      responses: {
        200: { description: "The graph.", content: { [TYPES.json]: Graph, [TYPES.mermaid]: undefined, [TYPES.svg]: undefined } },
        304: { description: "It is as the client knows it." },
        412: { description: "It is not as the client knows it." },
        422: { description: "It is too large to be drawn." },
      },
    },
    answer: (request, query) => ofContent(source, request, (content) => graphAnswer(content, request, query, cache)),
  });
  return [route];
}

async function graphAnswer(content: CatalogContent, request: RouteRequest, query: Query, cache: AnswerCache): Promise<Answer> {
  const name = request.params["package"] ?? "";
  const format = query.format ?? preferredFormat(request.headers.accept);
  try {
    const parts = partsOf(content, name);
    if (!parts) return problemAnswer("PackageNotFound", `the catalog has no package ${JSON.stringify(name)}`);
    const key = `graph ${JSON.stringify([parts.map(({ tag }) => tag), format, query.channel, query.minimum])}`;
    const bytes = await cache.get(key, async () => Buffer.from(textOf(format, chosen(await sourceOf(content, name), query))));
    const answer = await documentAnswer(documentOf(bytes, TYPES[format]), asked(request), cache);
    const policy = format === "svg" ? { "content-security-policy": PICTURE_POLICY } : {};
    return { ...answer, headers: { ...answer.headers, ...policy, "x-content-type-options": "nosniff", vary: "Accept, Accept-Encoding" } };
  } catch (err) {
    if (err instanceof GraphTooLargeError) return problemAnswer("GraphTooLarge", err.message);
    if (err instanceof UnknownMinimumError) return problemAnswer("InvalidQuery", `minimum: ${err.message}`);
    if (err instanceof UnknownChannelError) return problemAnswer("ChannelNotFound", err.message);
    throw err;
  }
}

function preferredFormat(accept: string | undefined): Format {
  const formats = Object.keys(TYPES) as Format[];
  const type = preferredType(accept, Object.values(TYPES));
  return formats.find((format) => TYPES[format] === type) ?? "json";
}

/** The package has no channel of the name that was asked for. */
class UnknownChannelError extends Error {}

/** What is asked for of a package. */
function chosen(source: GraphSource, { channel: wanted, minimum }: Query): GraphSource {
  const missing = wanted?.find((name) => !source.channels.some((channel) => channel.name === name));
  if (missing !== undefined)
    throw new UnknownChannelError(`package ${JSON.stringify(source.package)} has no channel ${JSON.stringify(missing)}`);
  const some = wanted ? { ...source, channels: source.channels.filter(({ name }) => wanted.includes(name)) } : source;
  return minimum === undefined ? some : (aboveMinimum([some], minimum)[0] ?? some);
}

function textOf(format: Format, source: GraphSource): string {
  if (format === "mermaid") return mermaidGraph([source]);
  const graph: UpdateGraph = updateGraph(source);
  return format === "svg" ? svgGraph(graph) : `${JSON.stringify(graph)}\n`;
}

/** The lines that the graph of a package is made of; undefined when the catalog does not have it. @throws GraphTooLargeError */
function partsOf(content: CatalogContent, name: string) {
  const select = (query: MetaQuery) => content.catalog.select(query);
  const owner = select({ schema: "olm.package", name });
  const channels = select({ schema: "olm.channel", package: name });
  const deprecations = select({ schema: "olm.deprecations", package: name });
  const bundles = content.parts.get("properties")?.select({ package: name });
  const parts = [owner, channels, deprecations, ...(bundles ? [bundles] : [])];
  if (parts.every(({ bytes }) => bytes === 0)) return undefined;
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes > MAX_BYTES) throw new GraphTooLargeError(`the package has ${bytes} bytes of channels, at most ${MAX_BYTES} are drawn`);
  return parts;
}

async function sourceOf(content: CatalogContent, name: string): Promise<GraphSource> {
  const metas: Meta[] = [];
  for (const query of [
    { schema: "olm.package", name },
    { schema: "olm.channel", package: name },
    { schema: "olm.deprecations", package: name },
  ])
    for (const value of await objectsOf(content.catalog, query)) metas.push(metaFrom(value));
  const { package: own, channels, deprecations } = packageContent(metas, name);
  const properties = content.parts.get("properties");
  const versions = versionsFrom(properties ? await objectsOf(properties, { package: name }) : []);
  return { package: name, defaultChannel: own?.defaultChannel, channels, deprecations, versions };
}

async function objectsOf(part: StoredPart, query: MetaQuery): Promise<unknown[]> {
  const lines = Buffer.from(await readSelection(part.file, part.select(query))).toString();
  return lines.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown]));
}

/** Versions by bundle, of lines of part "properties". */
function versionsFrom(lines: readonly unknown[]): Map<string, BundleVersion> {
  const versions = new Map<string, BundleVersion>();
  for (const line of lines) {
    if (!isObject(line) || typeof line["bundle"] !== "string") continue;
    const { bundle, version, release } = line;
    if (typeof version === "string") versions.set(bundle, bundleVersion(version, typeof release === "string" ? release : undefined));
  }
  return versions;
}
