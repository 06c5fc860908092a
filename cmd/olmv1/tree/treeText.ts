import { printable } from "../../../pkg/errors/printable.ts";

/** One line of a tree, with what hangs on it. */
export interface TreeNode {
  label: string;
  children: readonly TreeNode[];
}

/** A tree as text, a line a node, in the order given; control characters of names are escaped. */
export function treeText(root: TreeNode): string {
  return `${[line(root.label), ...branches(root.children)].join("\n")}\n`;
}

function branches(nodes: readonly TreeNode[]): string[] {
  return nodes.flatMap(({ label, children }, i) => {
    const isLast = i === nodes.length - 1;
    const indent = isLast ? "   " : "│  ";
    return [`${isLast ? "└─ " : "├─ "}${line(label)}`, ...branches(children).map((below) => indent + below)];
  });
}

function line(text: string): string {
  return printable(text).replaceAll("\n", " ");
}
