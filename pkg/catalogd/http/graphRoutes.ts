import * as z from "zod";
import { GraphRefusedError } from "../graphql/drawGraph.ts";
import { QueriesBusyError, type QueryThreads } from "../graphql/queryThreads.ts";
import type { CatalogContent } from "../store/content.ts";
import type { LineSelection, MetaQuery } from "../store/contentIndex.ts";
import type { StoredArtifact } from "../store/storedArtifact.ts";
import { preferredType } from "./conditional.ts";
import { documentOf, documentResponse, readSelection, type ServedDocument } from "./contentResponse.ts";
import { type ContentRouteDependencies, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import { CatalogName, type CatalogServer } from "./route.ts";

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
  type: z.enum(["replaces", "skips"]).describe("what of the entry `to` allows it"),
});
const Run = z.object({
  first: z.int().describe("position in `nodes`, from 0, of the newest bundle of the run"),
  last: z.int().describe("position of the oldest one"),
});
const Range = z.object({
  to: z.string().describe("name of the bundle that has the `skipRange`"),
  range: z.string().describe("the range as the catalog writes it"),
  covers: z.array(Run).describe("the bundles that can be updated to it: runs of nodes; none for a range that cannot be read"),
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
  ranges: z.array(Range).describe("by the node they lead to, in the order of the nodes"),
});
const Graph = z
  .object({
    package: z.string().describe("name of the package"),
    defaultChannel: z.string().optional().describe("the channel that the package proposes"),
    deprecated: z.string().optional().describe("the message of the package's deprecation"),
    channels: z.array(Channel).describe("by name"),
  })
  .meta({ id: "UpdateGraph", description: "Which bundle of a package can be updated to which, channel by channel." });

/** What the endpoint is built from. */
export interface GraphRouteDependencies extends ContentRouteDependencies {
  /** Draws the graphs; threads start when there is something to draw. */
  graphs: QueryThreads;
}

const GraphPath = z.object({ catalog: CatalogName, package: z.string().describe("name of the package") });

/** Registers the endpoint of a package's update graph. */
export function registerGraphRoute(server: CatalogServer, dependencies: GraphRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/api/v1/catalogs/:catalog/packages/:package/graph",
    schema: { params: GraphPath, querystring: Query },
    config: {
      failures: "problem",
      operation: {
        id: "getUpdateGraph",
        summary: "The update graph of a package as JSON, Mermaid or SVG",
        description:
          "Every update that the catalog allows. `edges` are those that entries name; `ranges` tell for each `skipRange` which nodes it covers, as runs of positions in `nodes`.",
        responses: {
          200: { description: "The graph.", content: { [TYPES.json]: Graph, [TYPES.mermaid]: undefined, [TYPES.svg]: undefined } },
          304: { description: "It is as the client knows it." },
          412: { description: "It is not as the client knows it." },
          413: {
            description:
              "The graph is too large: more than 5,000 entries in a channel, 100,000 updates, or 64 MiB of text (16 MiB of a drawing).",
          },
          503: { description: "Too many graphs and queries are being computed." },
        },
      },
    },
    handler: (request, reply) =>
      withContent(dependencies.source, request.params.catalog, async (content) => {
        const format = request.query.format ?? preferredFormat(request.headers.accept);
        const graph = await readGraph(content, { ...request.query, package: request.params.package, format }, dependencies);
        if (format === "svg") reply.header("content-security-policy", PICTURE_POLICY);
        reply.headers({ "x-content-type-options": "nosniff", vary: "Accept, Accept-Encoding" });
        await reply.respond(await documentResponse(graph, request, dependencies.cache));
      }),
  });
}

/** @throws ProblemError when the content does not have the package or the channel, the graph is too large, or too many are being drawn. */
async function readGraph(
  content: CatalogContent,
  wanted: Query & { readonly package: string; readonly format: Format },
  { cache, graphs }: GraphRouteDependencies,
): Promise<ServedDocument> {
  const { package: name, format, channel, minimum } = wanted;
  try {
    const artifacts = artifactsOf(content, name);
    if (!artifacts) throw new ProblemError("PackageNotFound", `the catalog has no package ${JSON.stringify(name)}`);
    const { metas, properties } = artifacts;
    const tags = [...metas, ...properties].map(({ selection }) => selection.tag);
    const key = `graph ${JSON.stringify([tags, format, channel, minimum])}`;
    const read = async () => ({ metas: await linesOf(metas), properties: await linesOf(properties) });
    // Not the signal of this client: others may wait for the same graph.
    const bytes = await cache.get(key, () => graphs.graph(wanted, read, new AbortController().signal));
    return documentOf(bytes, TYPES[format]);
  } catch (err) {
    if (err instanceof GraphRefusedError) throw new ProblemError(err.code, err.message, { cause: err });
    if (err instanceof QueriesBusyError) throw new ProblemError("Overloaded", err.message, { headers: { "retry-after": 1 }, cause: err });
    throw err;
  }
}

function preferredFormat(accept: string | undefined): Format {
  const formats = Object.keys(TYPES) as Format[];
  const type = preferredType(accept, Object.values(TYPES));
  return formats.find((format) => TYPES[format] === type) ?? "json";
}

interface ReadArtifact {
  readonly artifact: StoredArtifact;
  readonly selection: LineSelection;
}

/** What the graph of a package is made of; undefined when the catalog does not have it. @throws GraphRefusedError when that is too large. */
function artifactsOf(content: CatalogContent, name: string): { metas: ReadArtifact[]; properties: ReadArtifact[] } | undefined {
  const select = (artifact: StoredArtifact, query: MetaQuery): ReadArtifact => ({ artifact, selection: artifact.select(query) });
  const queries = [
    { schema: "olm.package", name },
    { schema: "olm.channel", package: name },
    { schema: "olm.deprecations", package: name },
  ];
  const metas = queries.map((query) => select(content.catalog, query));
  const stored = content.artifacts.get("properties");
  const properties = stored ? [select(stored, { package: name })] : [];
  const bytes = [...metas, ...properties].reduce((sum, { selection }) => sum + selection.bytes, 0);
  if (bytes === 0) return undefined;
  if (bytes > MAX_BYTES)
    throw new GraphRefusedError("GraphTooLarge", `the package has ${bytes} bytes of channels, at most ${MAX_BYTES} are drawn`);
  return { metas, properties };
}

/** Joins the lines of several selections. */
async function linesOf(artifacts: readonly ReadArtifact[]): Promise<Uint8Array<ArrayBuffer>> {
  const lines = await Promise.all(artifacts.map(({ artifact, selection }) => readSelection(artifact.file, selection)));
  const joined = new Uint8Array(lines.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const bytes of lines) {
    joined.set(bytes, at);
    at += bytes.byteLength;
  }
  return joined;
}
