import { compareText } from "../../text/compare.ts";

/**
 * Merges lists of mirrors of one source. Keeps the order of each list if the lists allow it: (B, C) and (A, B) become (A, B, C). If they contradict
 * each other, breaks the cycle at the first name in alphabetical order. The source follows mirrors after which a list does not name it; the result
 * omits it at the end, where it is tried anyway.
 * @param lists not empty
 * @see openshift/machine-config-operator 7ce171ca vendor/github.com/openshift/runtime-utils/pkg/registries mergedMirrors and topograph.go
 */
export function mergeMirrorOrder(source: string, lists: readonly (readonly string[])[]): string[] {
  const edges = lists.flatMap((mirrors) => {
    const chain = mirrors.includes(source) ? mirrors : [...mirrors, source];
    return chain.slice(1).map((to, index): [string, string] => [chain[index] ?? "", to]);
  });
  const sorted = sortByEdges(edges);
  return sorted.at(-1) === source ? sorted.slice(0, -1) : sorted;
}

interface Node {
  readonly name: string;
  isUsed: boolean;
  /** predecessors that are not in the result yet */
  readonly before: Set<Node>;
  readonly after: Set<Node>;
}

/** Sorts the names so that each edge points forward, as far as possible; otherwise alphabetically. */
export function sortByEdges(edges: readonly (readonly [from: string, to: string])[]): string[] {
  const nodes = new Map<string, Node>();
  const nodeOf = (name: string): Node => {
    const node = nodes.get(name) ?? { name, isUsed: false, before: new Set(), after: new Set() };
    nodes.set(name, node);
    return node;
  };
  for (const [from, to] of edges) {
    nodeOf(from).after.add(nodeOf(to));
    nodeOf(to).before.add(nodeOf(from));
  }
  const byName = (a: Node, b: Node): number => compareText(a.name, b.name);
  const all = [...nodes.values()].sort(byName);
  const ready = all.filter(({ before }) => before.size === 0);
  const sorted: string[] = [];
  const use = (node: Node): void => {
    if (node.isUsed) return;
    node.isUsed = true;
    sorted.push(node.name);
    const freed = [...node.after].filter((next) => next.before.delete(node) && next.before.size === 0 && !next.isUsed);
    ready.push(...freed.sort(byName));
  };
  for (let taken = 0, unused = 0; taken < ready.length || unused < all.length; ) {
    const next = taken < ready.length ? ready[taken++] : all[unused++];
    if (next) use(next);
  }
  return sorted;
}
