import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { DependencyEdge, DependencyGraph, DependencyNode, PlanProgressView, RequirementRow } from "../../consoleapi/dependencies.ts";
import { describeExtensionState } from "../../rollout/extensionState.ts";
import { truncate } from "../../text/truncate.ts";
import { placeInColumns } from "./layeredLayout.ts";

const MAX_NODES = 400;
const MAX_EDGES = 2_000;
const MAX_REQUIREMENTS = 20;
const MAX_LABEL = 26;
const MAX_DETAIL = 32;
const NODE = { width: 230, height: 56 };
const COLUMN_GAP = 90;
const ROW_GAP = 20;
const MARGIN = 12;
const CLUSTER = "cluster";

/** A node before it is placed. */
type PlainNode = Omit<DependencyNode, "x" | "y">;
type PlainEdge = Omit<DependencyEdge, "path">;

/** What the graph shows. */
export interface GraphContent {
  readonly extensions: readonly ClusterExtension[];
  readonly requirements: readonly RequirementRow[];
  readonly plans: readonly PlanProgressView[];
}

/** Draws who needs whom; undefined if there are no dependencies, or too many. */
export function drawDependencies(content: GraphContent): DependencyGraph | undefined {
  const { nodes, edges } = collectGraph(content);
  if (edges.length === 0 || nodes.length > MAX_NODES || edges.length > MAX_EDGES) return undefined;
  const placed = placeInColumns(
    nodes.map(({ id }) => id),
    edges,
  );
  const places = new Map(
    placed.map(({ id, column, row }) => {
      return [id, { x: MARGIN + column * (NODE.width + COLUMN_GAP), y: MARGIN + row * (NODE.height + ROW_GAP) }] as const;
    }),
  );
  const place = (id: string): Place => places.get(id) ?? { x: 0, y: 0 };
  return {
    width: Math.max(...placed.map(({ column }) => column)) * (NODE.width + COLUMN_GAP) + NODE.width + 2 * MARGIN,
    height: Math.max(...placed.map(({ row }) => row)) * (NODE.height + ROW_GAP) + NODE.height + 2 * MARGIN,
    node: NODE,
    nodes: nodes.map((node) => ({ ...node, ...place(node.id) })),
    edges: edges.map((edge) => ({ ...edge, path: drawArrow(place(edge.from), place(edge.to)) })),
  };
}

interface Place {
  readonly x: number;
  readonly y: number;
}

function drawArrow(from: Place, to: Place): string {
  const [x, y] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [endX, endY] = [to.x, to.y + NODE.height / 2];
  const bend = Math.max(COLUMN_GAP / 2, Math.abs(endX - x) / 2);
  return `M${x} ${y}C${x + bend} ${y} ${endX - bend} ${endY} ${endX} ${endY}`;
}

/** Collects nodes and arrows. Several requirements of one extension on another are one arrow. */
function collectGraph({ extensions, requirements, plans }: GraphContent): { nodes: PlainNode[]; edges: PlainEdge[] } {
  const byName = new Map(extensions.map((extension) => [extension.metadata.name, extension]));
  const nodes = new Map<string, PlainNode>();
  const edges = new Map<string, PlainEdge>();
  const addNode = (node: PlainNode): string => {
    if (!nodes.has(node.id)) nodes.set(node.id, node);
    return node.id;
  };
  const addExtension = (name: string): string => addNode(describeExtension(name, byName.get(name)));
  const addEdge = (from: string, to: string, state: DependencyEdge["state"], texts: readonly string[]): void => {
    const key = JSON.stringify([from, to]);
    const before = edges.get(key);
    const joined = [...new Set([...(before?.requirements ?? []), ...texts])].slice(0, MAX_REQUIREMENTS);
    edges.set(key, { from, to, state: before?.state ?? state, requirements: joined });
  };
  for (const { extension, text, state, unmet, providers } of requirements) {
    const from = addExtension(extension);
    if (state.mood === "bad") {
      for (const reason of unmet.length > 0 ? unmet : [text])
        addEdge(from, addNode(describeMissing(`missing ${nodes.size}`, reason)), "unmet", [reason]);
      continue;
    }
    for (const provider of providers) addEdge(from, addExtension(provider), "met", [text]);
    if (providers.length === 0) addEdge(from, addNode(describeCluster()), "met", [text]);
  }
  for (const { extension, members } of plans) {
    const root = addExtension(extension);
    for (const { extension: member, reason } of members)
      if (member !== extension) addEdge(root, addExtension(member), "planned", reason === undefined ? [] : [reason]);
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function describeExtension(name: string, extension: ClusterExtension | undefined): PlainNode {
  const bundle = extension?.status?.install?.bundle;
  const packageName = extension?.spec.source.catalog?.packageName ?? "";
  const { text, mood } = extension ? describeExtensionState(extension) : { text: "Not created yet", mood: "faint" as const };
  return {
    id: `extension ${name}`,
    kind: "extension",
    label: truncate(name, MAX_LABEL),
    detail: truncate([packageName, bundle?.version].filter(Boolean).join(" "), MAX_DETAIL),
    state: { text, ...(mood === undefined ? {} : { mood }) },
  };
}

function describeMissing(id: string, reason: string): PlainNode {
  return { id, kind: "missing", label: "Missing", detail: truncate(reason, MAX_DETAIL) };
}

function describeCluster(): PlainNode {
  return { id: CLUSTER, kind: "cluster", label: "Cluster", detail: "APIs of no extension" };
}
