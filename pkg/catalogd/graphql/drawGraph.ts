import { type BundleVersion, bundleVersion } from "../../fbc/bundleOrder.ts";
import { metaFrom, packageContent } from "../../fbc/content.ts";
import { mermaidGraph } from "../../fbc/graph/mermaid.ts";
import { aboveMinimum, UnknownMinimumError } from "../../fbc/graph/subgraph.ts";
import { svgGraph } from "../../fbc/graph/svg.ts";
import { type GraphSource, GraphTooLargeError, graphJson, updateGraph } from "../../fbc/graph/updateGraph.ts";
import { isObject } from "../../golang/members.ts";

/** The forms of a graph. */
type GraphFormat = "json" | "mermaid" | "svg";

/** What a client asks for of a package's update graph. */
export interface GraphRequest {
  readonly package: string;
  readonly format: GraphFormat;
  /** Names of the only channels. */
  readonly channel?: readonly string[] | undefined;
  /** Name of the oldest bundle. */
  readonly minimum?: string | undefined;
}

/** The lines of a catalog that a graph is made of, as JSON Lines. */
export interface GraphLines {
  /** The package, its channels and its deprecations. */
  readonly metas: Uint8Array<ArrayBuffer>;
  /** The lines of artifact "properties". */
  readonly properties: Uint8Array<ArrayBuffer>;
}

/** Why there is no graph. */
export type GraphRefusal = "GraphTooLarge" | "InvalidQuery" | "ChannelNotFound";

/** A graph cannot be answered as it was asked for. */
export class GraphRefusedError extends Error {
  override readonly name = "GraphRefusedError";
  readonly code: GraphRefusal;

  constructor(code: GraphRefusal, message: string) {
    super(message);
    this.code = code;
  }
}

/** Writes the update graph of a package. @throws GraphRefusedError for an unknown channel or minimum, and beyond the limits of graphs. */
export function drawGraph(request: GraphRequest, lines: GraphLines): string {
  try {
    const source = chosen(sourceOf(request.package, lines), request);
    if (request.format === "mermaid") return mermaidGraph([source]);
    const graph = updateGraph(source);
    return request.format === "svg" ? svgGraph(graph) : graphJson(graph);
  } catch (err) {
    if (err instanceof GraphTooLargeError) throw new GraphRefusedError("GraphTooLarge", err.message);
    if (err instanceof UnknownMinimumError) throw new GraphRefusedError("InvalidQuery", `minimum: ${err.message}`);
    throw err;
  }
}

function chosen(source: GraphSource, { channel: wanted, minimum }: GraphRequest): GraphSource {
  const names = new Set(source.channels.map(({ name }) => name));
  const missing = wanted?.find((name) => !names.has(name));
  if (missing !== undefined)
    throw new GraphRefusedError("ChannelNotFound", `package ${JSON.stringify(source.package)} has no channel ${JSON.stringify(missing)}`);
  const kept = wanted && new Set(wanted);
  const some = kept ? { ...source, channels: source.channels.filter(({ name }) => kept.has(name)) } : source;
  return minimum === undefined ? some : (aboveMinimum([some], minimum)[0] ?? some);
}

function sourceOf(name: string, lines: GraphLines): GraphSource {
  const { package: own, channels, deprecations } = packageContent(objectsIn(lines.metas).map(metaFrom), name);
  const versions = versionsFrom(objectsIn(lines.properties));
  return { package: name, defaultChannel: own?.defaultChannel, channels, deprecations, versions };
}

function objectsIn(lines: Uint8Array): unknown[] {
  const text = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString();
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown]));
}

/** Versions by bundle, of lines of artifact "properties". */
function versionsFrom(lines: readonly unknown[]): Map<string, BundleVersion> {
  const versions = new Map<string, BundleVersion>();
  for (const line of lines) {
    if (!isObject(line) || typeof line["bundle"] !== "string") continue;
    const { bundle, version, release } = line;
    if (typeof version === "string") versions.set(bundle, bundleVersion(version, typeof release === "string" ? release : undefined));
  }
  return versions;
}
