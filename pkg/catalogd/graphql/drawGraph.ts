import { type BundleVersion, toBundleVersion } from "../../fbc/bundleOrder.ts";
import { selectPackage, toMeta } from "../../fbc/content.ts";
import { renderMermaid } from "../../fbc/graph/mermaid.ts";
import { selectAboveMinimum, UnknownMinimumError } from "../../fbc/graph/subgraph.ts";
import { renderSvg } from "../../fbc/graph/svg.ts";
import { buildUpdateGraph, type GraphSource, GraphTooLargeError, renderGraphJson } from "../../fbc/graph/updateGraph.ts";
import { isObject } from "../../golang/members.ts";

/** Output formats of a graph. */
type GraphFormat = "json" | "mermaid" | "svg";

/** A client request for the upgrade graph of a package. */
export interface GraphRequest {
  readonly package: string;
  readonly format: GraphFormat;
  /** Names of the channels to include; all channels by default. */
  readonly channel?: readonly string[] | undefined;
  /** Name of the oldest bundle to include. */
  readonly minimum?: string | undefined;
}

/** The lines of a catalog from which a graph is built, as JSON Lines. */
export interface GraphLines {
  /** The package with its channels and deprecations. */
  readonly metas: Uint8Array<ArrayBuffer>;
  /** The lines of the package in artifact "properties". */
  readonly properties: Uint8Array<ArrayBuffer>;
}

/** Reasons for rejecting a request for a graph or package. */
export type GraphRefusal = "GraphTooLarge" | "InvalidQuery" | "ChannelNotFound" | "PackageTooLarge" | "VersionNotFound";

/** A request for a graph or package that cannot be satisfied. */
export class GraphRefusedError extends Error {
  override readonly name = "GraphRefusedError";
  readonly code: GraphRefusal;

  constructor(code: GraphRefusal, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Draws the upgrade graph of a package. @throws GraphRefusedError for an unknown channel or minimum,
 * or if the graph exceeds a limit.
 */
export function drawGraph(request: GraphRequest, lines: GraphLines): string {
  try {
    const source = chosen(readGraphSource(request.package, lines), request);
    if (request.format === "mermaid") return renderMermaid([source]);
    const graph = buildUpdateGraph(source);
    return request.format === "svg" ? renderSvg(graph) : renderGraphJson(graph);
  } catch (err) {
    if (err instanceof GraphTooLargeError)
      throw new GraphRefusedError("GraphTooLarge", `${err.message}. Limit the graph with the parameter channel or minimum`);
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
  return minimum === undefined ? some : (selectAboveMinimum([some], minimum)[0] ?? some);
}

function readGraphSource(name: string, lines: GraphLines): GraphSource {
  const { package: own, channels, deprecations } = selectPackage(parseObjects(lines.metas).map(toMeta), name);
  const versions = readVersions(parseObjects(lines.properties));
  return { package: name, defaultChannel: own?.defaultChannel, channels, deprecations, versions };
}

function parseObjects(lines: Uint8Array): unknown[] {
  const text = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString();
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown]));
}

/** Returns the versions by bundle name, read from the lines of artifact "properties". */
function readVersions(lines: readonly unknown[]): Map<string, BundleVersion> {
  const versions = new Map<string, BundleVersion>();
  for (const line of lines) {
    if (!isObject(line) || typeof line["bundle"] !== "string") continue;
    const { bundle, version, release } = line;
    if (typeof version === "string") versions.set(bundle, toBundleVersion(version, typeof release === "string" ? release : undefined));
  }
  return versions;
}
