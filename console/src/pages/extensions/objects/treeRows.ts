import type { ObjectTreeNode } from "../../../../../pkg/consoleapi/objects.ts";

/** A visible node of a tree. */
export interface TreeRow {
  readonly node: ObjectTreeNode;
  /** 1 for the root. */
  readonly level: number;
  /** Position among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
  /** Undefined if the node has no children. */
  readonly isExpanded: boolean | undefined;
  /** Identifier of the parent; undefined for the root. */
  readonly parent: string | undefined;
}

/**
 * Returns the visible nodes in their order. The root and the nodes above one that does not work are expanded, unless the user toggled them.
 * @param toggled identifiers of nodes that the user expanded or collapsed
 * @param isFiltered whether the tree is the part that matches a search: all its nodes are expanded, unless the user toggled them
 */
export function listTreeRows(root: ObjectTreeNode, toggled: ReadonlySet<string>, isFiltered = false): TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (node: ObjectTreeNode, place: Omit<TreeRow, "node" | "isExpanded">): void => {
    const { id, children, isFailing } = node;
    const isOpen = (isFailing || isFiltered || place.level === 1) !== toggled.has(id);
    rows.push({ ...place, node, isExpanded: children.length === 0 ? undefined : isOpen });
    if (!isOpen) return;
    children.forEach((child, i) => visit(child, { level: place.level + 1, position: i + 1, siblings: children.length, parent: id }));
  };
  visit(root, { level: 1, position: 1, siblings: 1, parent: undefined });
  return rows;
}

/** Returns the part of a tree whose nodes match, with the nodes above and below them; undefined if none matches. */
export function filterTree(node: ObjectTreeNode, text: string, onlyFailing: boolean): ObjectTreeNode | undefined {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && !onlyFailing) return node;
  const keep = (one: ObjectTreeNode): ObjectTreeNode | undefined => {
    if (onlyFailing && !one.isFailing) return undefined;
    const searched = `${one.title} ${one.text} ${one.message} ${one.state?.text ?? ""}`.toLowerCase();
    const isMatch = words.every((word) => searched.includes(word));
    if (isMatch && !onlyFailing) return one;
    const children = one.children.flatMap((child) => keep(child) ?? []);
    return isMatch || children.length > 0 ? { ...one, children } : undefined;
  };
  return keep(node);
}

/** What a key does in a tree. */
export type TreeMove = { readonly focus: string } | { readonly toggle: string };

/**
 * Returns what a key does according to the pattern of tree views.
 * @param current identifier of the focused node
 * @see https://www.w3.org/WAI/ARIA/apg/patterns/treeview/
 */
export function findTreeMove(rows: readonly TreeRow[], current: string, key: string): TreeMove | undefined {
  const at = rows.findIndex(({ node }) => node.id === current);
  const row = rows[at];
  if (!row) return undefined;
  const focus = (target: TreeRow | undefined): TreeMove | undefined => target && { focus: target.node.id };
  if (key === "ArrowDown") return focus(rows[at + 1]);
  if (key === "ArrowUp") return focus(rows[at - 1]);
  if (key === "Home") return focus(rows[0]);
  if (key === "End") return focus(rows.at(-1));
  if (key === "ArrowRight") return row.isExpanded === false ? { toggle: current } : row.isExpanded ? focus(rows[at + 1]) : undefined;
  if (key !== "ArrowLeft") return undefined;
  return row.isExpanded ? { toggle: current } : focus(rows.find(({ node }) => node.id === row.parent));
}

/** Returns the identifiers of the nodes above the first node with the property; undefined if no node has it. */
export function findAncestors(node: ObjectTreeNode, isWanted: (node: ObjectTreeNode) => boolean): readonly string[] | undefined {
  if (isWanted(node)) return [];
  for (const child of node.children) {
    const found = findAncestors(child, isWanted);
    if (found) return [node.id, ...found];
  }
  return undefined;
}
