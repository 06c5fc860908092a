import * as z from "zod";
import { GraphRefusedError } from "../graphql/drawGraph.ts";
import { QueriesBusyError, type QueryThreads } from "../graphql/queryThreads.ts";
import type { CatalogContent } from "../store/content.ts";
import type { LineSelection, MetaQuery } from "../store/contentIndex.ts";
import type { StoredArtifact } from "../store/storedArtifact.ts";
import { choosePreferredType } from "./conditional.ts";
import { createDocument, readSelection, respondWithDocument, type ServedDocument } from "./contentResponse.ts";
import { type ContentRouteDependencies, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import { CatalogName, type CatalogServer } from "./route.ts";

/** The formats of a graph and their media types; the first is the default. */
const TYPES = { json: "application/json", mermaid: "text/vnd.mermaid", svg: "image/svg+xml" } as const;
type GraphResponseFormat = keyof typeof TYPES;

/** Maximum size of a package in a graph, in bytes. The largest real package has some hundred kilobytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Prevents a drawing from running scripts and loading resources. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const Query = z.strictObject({
  format: z
    .enum(["json", "mermaid", "svg"])
    .optional()
    .describe("format of the response; default: the preferred format in the `Accept` header"),
  channel: z.array(z.string()).optional().describe("return only this channel; repeatable"),
  minimum: z.string().optional().describe("name of a bundle; return only bundles with the same or a higher version"),
});
type Query = z.output<typeof Query>;

const Edge = z.object({
  from: z.string().describe("name of the bundle to upgrade from"),
  to: z.string().describe("name of the bundle to upgrade to"),
  type: z.enum(["replaces", "skips"]).describe("field of the channel entry `to` that allows the upgrade"),
});
const Run = z.object({
  first: z.int().describe("index in `nodes` of the newest bundle in the run, counted from 0"),
  last: z.int().describe("index in `nodes` of the oldest bundle in the run"),
});
const Range = z.object({
  to: z.string().describe("name of the bundle that has the `skipRange`"),
  range: z.string().describe("`skipRange` as written in the catalog"),
  covers: z.array(Run).describe("bundles that can be upgraded to the bundle `to`, as runs of nodes; empty if the range is invalid"),
});
const Node = z.object({
  name: z.string().describe("bundle name"),
  version: z.string().optional().describe("version of the bundle; absent if the catalog does not contain the bundle"),
  head: z.literal(true).optional().describe("true if no channel entry replaces or skips this bundle"),
  deprecated: z.string().optional().describe("deprecation message"),
  absent: z.literal(true).optional().describe("true if a channel entry replaces or skips this bundle, but the channel has no entry for it"),
});
const Channel = z.object({
  name: z.string().describe("channel name"),
  deprecated: z.string().optional().describe("deprecation message"),
  nodes: z.array(Node).describe("channel entries, highest version first, then absent bundles"),
  edges: z.array(Edge).describe("sorted by target node, in the order of the nodes"),
  ranges: z.array(Range).describe("sorted by target node, in the order of the nodes"),
});
const Graph = z
  .object({
    package: z.string().describe("package name"),
    defaultChannel: z.string().optional().describe("default channel"),
    deprecated: z.string().optional().describe("deprecation message"),
    channels: z.array(Channel).describe("sorted by name"),
  })
  .meta({ id: "UpdateGraph", description: "Allowed upgrades of a package." });

/** Dependencies of the graph endpoint. */
export interface GraphRouteDependencies extends ContentRouteDependencies {
  /** Threads that draw graphs, started on demand. */
  graphs: QueryThreads;
}

const GraphPath = z.object({ catalog: CatalogName, package: z.string().describe("package name") });

/** Registers the endpoint of a package's upgrade graph. */
export function registerGraphRoute(server: CatalogServer, dependencies: GraphRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/api/v1/catalogs/:catalog/packages/:package/graph",
    schema: { params: GraphPath, querystring: Query },
    config: {
      failures: "problem",
      operation: {
        id: "getUpdateGraph",
        summary: "Upgrade graph of a package as JSON, Mermaid or SVG",
        description:
          "All allowed upgrades. `edges` contains the upgrades that `replaces` and `skips` allow; `ranges` contains the runs of nodes that each `skipRange` covers.",
        responses: {
          200: { description: "The graph.", content: { [TYPES.json]: Graph, [TYPES.mermaid]: undefined, [TYPES.svg]: undefined } },
          304: { description: "The graph has not changed." },
          412: { description: "The graph does not match the precondition." },
          413: {
            description:
              "The graph is too large: more than 5,000 entries in a channel, 100,000 edges, or 64 MiB of text (16 MiB for a drawing).",
          },
          503: { description: "Too many graphs and queries are in progress." },
        },
      },
    },
    handler: (request, reply) =>
      withContent(dependencies.source, request.params.catalog, async (content) => {
        const format = request.query.format ?? preferredFormat(request.headers.accept);
        const graph = await readGraph(content, { ...request.query, package: request.params.package, format }, dependencies);
        if (format === "svg") reply.header("content-security-policy", PICTURE_POLICY);
        reply.headers({ "x-content-type-options": "nosniff", vary: "Accept, Accept-Encoding" });
        await reply.respond(await respondWithDocument(graph, request, dependencies.cache));
      }),
  });
}

/**
 * @throws ProblemError if the catalog does not contain the package or channel, the graph is too
 * large, or too many graphs are being drawn.
 */
async function readGraph(
  content: CatalogContent,
  requested: Query & { readonly package: string; readonly format: GraphResponseFormat },
  { cache, graphs }: GraphRouteDependencies,
): Promise<ServedDocument> {
  const { package: name, format, channel, minimum } = requested;
  try {
    const artifacts = findArtifacts(content, name);
    if (!artifacts) throw new ProblemError("PackageNotFound", `the catalog does not contain package ${JSON.stringify(name)}`);
    const { metas, properties } = artifacts;
    const tags = [...metas, ...properties].map(({ selection }) => selection.tag);
    const key = `graph ${JSON.stringify([tags, format, channel, minimum])}`;
    const read = async () => ({ metas: await joinLines(metas), properties: await joinLines(properties) });
    // Does not use the signal of this client, because other clients may wait for the same graph.
    const bytes = await cache.get(key, () => graphs.graph(requested, read, new AbortController().signal));
    return createDocument(bytes, TYPES[format]);
  } catch (err) {
    if (err instanceof GraphRefusedError) throw new ProblemError(err.code, err.message, { cause: err });
    if (err instanceof QueriesBusyError) throw new ProblemError("Overloaded", err.message, { headers: { "retry-after": 1 }, cause: err });
    throw err;
  }
}

function preferredFormat(accept: string | undefined): GraphResponseFormat {
  const formats = Object.keys(TYPES) as GraphResponseFormat[];
  const type = choosePreferredType(accept, Object.values(TYPES));
  return formats.find((format) => TYPES[format] === type) ?? "json";
}

interface ReadArtifact {
  readonly artifact: StoredArtifact;
  readonly selection: LineSelection;
}

/**
 * Returns the lines from which a package's graph is drawn; undefined if the catalog does not
 * contain the package.
 * @throws GraphRefusedError if the lines are too large.
 */
function findArtifacts(content: CatalogContent, name: string): { metas: ReadArtifact[]; properties: ReadArtifact[] } | undefined {
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
    throw new GraphRefusedError("GraphTooLarge", `the package is too large for a graph: ${bytes} bytes, maximum ${MAX_BYTES}`);
  return { metas, properties };
}

/** Joins the lines of several selections. */
async function joinLines(artifacts: readonly ReadArtifact[]): Promise<Uint8Array<ArrayBuffer>> {
  const lines = await Promise.all(artifacts.map(({ artifact, selection }) => readSelection(artifact.file, selection)));
  const joined = new Uint8Array(lines.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const bytes of lines) {
    joined.set(bytes, at);
    at += bytes.byteLength;
  }
  return joined;
}
