import { readExtensionTree, type TreeNode } from "../../../pkg/rollout/inventory.ts";
import { toOneLine } from "../../../pkg/text/escape.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import type { ClusterOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Minimum width of a line, at any depth. */
const LEAST = 20;

/** Formats a tree in the given order, with one line per node, wrapped if necessary. Escapes control characters. */
export function formatTree({ label, children }: TreeNode, width = Number.POSITIVE_INFINITY): string {
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

/** Wraps the text of a node. @param below prefix of all lines but the first. */
function lines(text: string, width: number, below: string): string[] {
  const [first = "", ...more] = wrapText(toOneLine(text), Math.max(width, LEAST), " ".repeat(below.length));
  return [first.slice(below.length), ...more.map((line) => below + line.slice(below.length))];
}

/** Runs `olmv1 tree`. */
export async function showTree(terminal: Terminal, name: string, options: ClusterOptions): Promise<void> {
  terminal.out(formatTree(await withCluster(options, (client) => readExtensionTree(client, name, Date.now())), terminal.width));
}
