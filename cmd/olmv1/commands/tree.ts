import { extensionTree, type TreeNode } from "../../../pkg/rollout/inventory.ts";
import { oneLine } from "../../../pkg/text/escape.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import type { ClusterOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";

/** A line is not made narrower than this, however deep it hangs. */
const LEAST = 20;

/** A tree as text, in the order given: a line a node, or several below one another where it does not fit; control characters of names are escaped. */
export function treeText({ label, children }: TreeNode, width = Number.POSITIVE_INFINITY): string {
  const below = children.length > 0 ? "│  " : "   ";
  return `${[...lines(label, width, below), ...branches(children, width)].join("\n")}\n`;
}

function branches(nodes: readonly TreeNode[], width: number): string[] {
  return nodes.flatMap(({ label, children }, i) => {
    const isLast = i === nodes.length - 1;
    const indent = isLast ? "   " : "│  ";
    const [first = "", ...more] = lines(label, width - indent.length, children.length > 0 ? "│  " : "   ");
    const below = [...more, ...branches(children, width - indent.length)];
    return [`${isLast ? "└─ " : "├─ "}${first}`, ...below.map((line) => indent + line)];
  });
}

/** @param below stands before all lines but the first. */
function lines(text: string, width: number, below: string): string[] {
  const [first = "", ...more] = wrapText(oneLine(text), Math.max(width, LEAST), " ".repeat(below.length));
  return [first.slice(below.length), ...more.map((line) => below + line.slice(below.length))];
}

/** `olmv1 tree`. */
export async function showTree(terminal: Terminal, name: string, options: ClusterOptions): Promise<void> {
  terminal.out(treeText(await withCluster(options, (client) => extensionTree(client, name, Date.now())), terminal.width));
}
