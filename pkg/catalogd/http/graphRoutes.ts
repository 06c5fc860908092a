import * as z from "zod";
import { GraphRefusedError } from "../graphql/drawGraph.ts";
import { QueriesBusyError, type QueryThreads } from "../graphql/queryThreads.ts";
import type { CatalogContent } from "../store/content.ts";
import type { MetaQuery, Selection } from "../store/contentIndex.ts";
import type { StoredPart } from "../store/storedPart.ts";
import { preferredType } from "./conditional.ts";
import { documentAnswer, documentOf, readSelection } from "./contentResponse.ts";
import { asked, type ContentRouteDependencies, ofContent } from "./contentRoutes.ts";
import { routeWithQuery } from "./request.ts";
import { type Answer, problemAnswer } from "./response.ts";
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

/** The endpoint of a package's update graph. */
export function graphRoutes(dependencies: GraphRouteDependencies): Route[] {
  const route = routeWithQuery(Query, {
    path: "/api/v1/catalogs/{catalog}/packages/{package}/graph",
    methods: ["GET", "HEAD"],
    failures: "problem",
    operation: {
      id: "getUpdateGraph",
      summary: "The update graph of a package as JSON, Mermaid or SVG",
      description:
        "Every update that the catalog allows. `edges` are those that entries name; `ranges` tell for each `skipRange` which nodes it covers, as runs of positions in `nodes`.",
      params: { package: z.string().describe("name of the package") },
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
    answer: (request, query) => ofContent(dependencies.source, request, (content) => graphAnswer(content, request, query, dependencies)),
  });
  return [route];
}

async function graphAnswer(
  content: CatalogContent,
  request: RouteRequest,
  query: Query,
  { cache, graphs }: GraphRouteDependencies,
): Promise<Answer> {
  const name = request.params["package"] ?? "";
  const format = query.format ?? preferredFormat(request.headers.accept);
  try {
    const parts = partsOf(content, name);
    if (!parts) return problemAnswer("PackageNotFound", `the catalog has no package ${JSON.stringify(name)}`);
    const { metas, properties } = parts;
    const tags = [...metas, ...properties].map(({ selection }) => selection.tag);
    const key = `graph ${JSON.stringify([tags, format, query.channel, query.minimum])}`;
    const read = async () => ({ metas: await linesOf(metas), properties: await linesOf(properties) });
    // Not the signal of this client: others may wait for the same graph.
    const bytes = await cache.get(key, () => graphs.graph({ ...query, package: name, format }, read, new AbortController().signal));
    const answer = await documentAnswer(documentOf(bytes, TYPES[format]), asked(request), cache);
    const policy = format === "svg" ? { "content-security-policy": PICTURE_POLICY } : {};
    return { ...answer, headers: { ...answer.headers, ...policy, "x-content-type-options": "nosniff", vary: "Accept, Accept-Encoding" } };
  } catch (err) {
    if (err instanceof GraphRefusedError) return problemAnswer(err.code, err.message);
    if (err instanceof QueriesBusyError) return problemAnswer("Overloaded", err.message, { "retry-after": 1 });
    throw err;
  }
}

function preferredFormat(accept: string | undefined): Format {
  const formats = Object.keys(TYPES) as Format[];
  const type = preferredType(accept, Object.values(TYPES));
  return formats.find((format) => TYPES[format] === type) ?? "json";
}

interface ReadPart {
  readonly part: StoredPart;
  readonly selection: Selection;
}

/** What the graph of a package is made of; undefined when the catalog does not have it. @throws GraphRefusedError when that is too large. */
function partsOf(content: CatalogContent, name: string): { metas: ReadPart[]; properties: ReadPart[] } | undefined {
  const select = (part: StoredPart, query: MetaQuery): ReadPart => ({ part, selection: part.select(query) });
  const queries = [
    { schema: "olm.package", name },
    { schema: "olm.channel", package: name },
    { schema: "olm.deprecations", package: name },
  ];
  const metas = queries.map((query) => select(content.catalog, query));
  const stored = content.parts.get("properties");
  const properties = stored ? [select(stored, { package: name })] : [];
  const bytes = [...metas, ...properties].reduce((sum, { selection }) => sum + selection.bytes, 0);
  if (bytes === 0) return undefined;
  if (bytes > MAX_BYTES)
    throw new GraphRefusedError("GraphTooLarge", `the package has ${bytes} bytes of channels, at most ${MAX_BYTES} are drawn`);
  return { metas, properties };
}

/** Joins the lines of several selections. */
async function linesOf(parts: readonly ReadPart[]): Promise<Uint8Array<ArrayBuffer>> {
  const lines = await Promise.all(parts.map(({ part, selection }) => readSelection(part.file, selection)));
  const joined = new Uint8Array(lines.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const bytes of lines) {
    joined.set(bytes, at);
    at += bytes.byteLength;
  }
  return joined;
}
