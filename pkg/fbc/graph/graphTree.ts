import { formatList } from "../../text/lists.ts";
import type { ChannelGraph, GraphNode, GraphRange, UpdateGraph } from "./updateGraph.ts";

/** A line of a graph that is drawn as text. */
export interface TreeLine {
  /** Line drawing before the text. */
  readonly drawing: string;
  readonly text: string;
  /** Marks after the text. */
  readonly marks: readonly TreeMark[];
  readonly kind: "package" | "channel" | "bundle" | "note";
}

/** A mark of a bundle, a channel or the package. */
interface TreeMark {
  readonly text: string;
  readonly mood: "good" | "warning" | "faint";
}

/** Maximum names in a list. */
const MAX_NAMES = 6;

/**
 * Draws the upgrade graph of a package as lines of text. Each channel begins with its head, and each bundle is followed by the bundle that it
 * replaces. Skipped bundles and ranges are branches of a bundle. Each bundle has one line per channel.
 */
export function buildGraphTree(graph: UpdateGraph): TreeLine[] {
  const deprecated = graph.deprecated === undefined ? [] : [deprecation(graph.deprecated)];
  return [
    { drawing: "", text: graph.package, marks: deprecated, kind: "package" },
    ...graph.channels.flatMap((channel) => new ChannelTree(channel).lines(channel.name === graph.defaultChannel)),
  ];
}

class ChannelTree {
  readonly #channel: ChannelGraph;
  /** By name, in order. */
  readonly #nodes: ReadonlyMap<string, GraphNode>;
  readonly #places: ReadonlyMap<string, number>;
  readonly #replaced = new Map<string, string>();
  readonly #skipped = new Map<string, string[]>();
  readonly #ranges: ReadonlyMap<string, GraphRange>;
  readonly #drawn = new Set<string>();
  /** Names of skipped bundles. */
  readonly #isSkipped = new Set<string>();

  constructor(channel: ChannelGraph) {
    this.#channel = channel;
    this.#nodes = new Map(channel.nodes.map((node) => [node.name, node]));
    this.#places = new Map(channel.nodes.map(({ name }, place) => [name, place]));
    this.#ranges = new Map(channel.ranges.filter(({ covers }) => covers.length > 0).map((range) => [range.to, range]));
    for (const { type, from, to } of channel.edges) {
      if (type === "replaces") this.#replaced.set(to, from);
      else {
        this.#isSkipped.add(from);
        const known = this.#skipped.get(to);
        if (known) known.push(from);
        else this.#skipped.set(to, [from]);
      }
    }
  }

  lines(isDefault: boolean): TreeLine[] {
    const { name, nodes, deprecated } = this.#channel;
    const entries = nodes.filter(({ absent }) => !absent).length;
    const marks: TreeMark[] = [
      { text: isDefault ? `default, ${entries} entries` : `${entries} entries`, mood: "faint" },
      ...(deprecated === undefined ? [] : [deprecation(deprecated)]),
    ];
    const heads = nodes.filter(({ head }) => head);
    return [
      { drawing: "", text: `channel ${name}`, marks, kind: "channel" },
      ...[...heads, ...nodes].flatMap((node) => (this.#drawn.has(node.name) ? [] : this.#chain(node))),
    ];
  }

  /** Draws a bundle and its replaces chain. */
  #chain(start: GraphNode): TreeLine[] {
    const chain: GraphNode[] = [];
    for (
      let node: GraphNode | undefined = start;
      node && !this.#drawn.has(node.name);
      node = this.#nodes.get(this.#replaced.get(node.name) ?? "")
    ) {
      this.#drawn.add(node.name);
      chain.push(node);
    }
    return chain.flatMap((node, at) => {
      const next = this.#replaced.get(node.name);
      const joins = chain[at + 1] || next === undefined ? [] : [note("╰╴ ", `replaces ${this.#label(next)}, which is shown above`)];
      return [this.#bundle(node.absent ? "◌ " : "● ", node), ...this.#branches(node, !chain[at + 1]), ...joins];
    });
  }

  /** Draws the skipped bundles and the skipRange of a bundle. */
  #branches({ name }: GraphNode, isLast: boolean): TreeLine[] {
    const drawing = isLast ? "   " : "│  ";
    const skipped = (this.#skipped.get(name) ?? []).toSorted((a, b) => (this.#places.get(a) ?? 0) - (this.#places.get(b) ?? 0));
    const fresh = skipped.filter((one) => !this.#drawn.has(one));
    const others = skipped.filter((one) => this.#drawn.has(one) && one !== this.#replaced.get(name));
    const range = this.#ranges.get(name);
    for (const one of fresh) this.#drawn.add(one);
    return [
      ...(range ? [note(drawing, `skipRange ${range.range}: ${this.#covered(range)}`)] : []),
      ...(others.length > 0 ? [note(drawing, `skips ${this.#list(others)}`)] : []),
      ...fresh
        .flatMap((one) => this.#nodes.get(one) ?? [])
        .map((node, at) => this.#bundle(isLast && at === fresh.length - 1 ? "╰─○ " : "├─○ ", node)),
    ];
  }

  #bundle(drawing: string, node: GraphNode): TreeLine {
    const { name, head, installed, deprecated, absent } = node;
    const marks: TreeMark[] = [
      ...(head ? [{ text: "head", mood: "good" as const }] : []),
      ...(installed
        ? [{ text: installed.length === 0 ? "installed" : `installed by ${installed.join(", ")}`, mood: "good" as const }]
        : []),
      ...(this.#isSkipped.has(name) ? [{ text: "skipped", mood: "warning" as const }] : []),
      ...(absent ? [{ text: "not in this channel", mood: "faint" as const }] : []),
      ...(deprecated === undefined ? [] : [deprecation(deprecated)]),
    ];
    return { drawing, text: this.#label(name), marks, kind: "bundle" };
  }

  #list(names: readonly string[], count = names.length): string {
    const labels = names.slice(0, MAX_NAMES).map((name) => this.#label(name));
    return formatList(labels, { max: MAX_NAMES, total: count });
  }

  #covered({ covers }: GraphRange): string {
    const first = covers
      .slice(0, MAX_NAMES)
      .flatMap((run) => this.#channel.nodes.slice(run.first, Math.min(run.last + 1, run.first + MAX_NAMES)));
    const names = first.map(({ name }) => name);
    const count = covers.reduce((sum, run) => sum + run.last - run.first + 1, 0);
    return this.#list(names, count);
  }

  #label(name: string): string {
    return this.#nodes.get(name)?.version ?? name;
  }
}

function deprecation(message: string): TreeMark {
  return { text: `deprecated: ${message.replace(/\s+/g, " ")}`, mood: "warning" };
}

function note(drawing: string, text: string): TreeLine {
  return { drawing, text, marks: [], kind: "note" };
}
