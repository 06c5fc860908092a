import { describeObject } from "../../../pkg/release/identity.ts";
import {
  type ExtensionSubject,
  type NodeSubject,
  type ObjectNode,
  type ObjectSubject,
  readExtensionTree,
} from "../../../pkg/rollout/objectTree.ts";
import { formatPlanMember } from "../../../pkg/rollout/planProgress.ts";
import { toOneLine } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";

/** One line of a tree, with its children. */
export interface TreeNode {
  readonly label: string;
  readonly children: readonly TreeNode[];
}

/** Returns a tree with the label of each node. */
export function labelTree({ subject, children }: ObjectNode, parent?: NodeSubject): TreeNode {
  return { label: formatLabel(subject, parent), children: children.map((child) => labelTree(child, subject)) };
}

function formatLabel(subject: NodeSubject, parent: NodeSubject | undefined): string {
  if (subject.kind === "extension") return formatExtension(subject);
  if (subject.kind === "object") return formatObject(subject, parent?.kind === "object");
  if (subject.kind === "plan") return `dependency plan: ${subject.installed} of ${formatCount(subject.all, "bundle")} installed`;
  if (subject.kind === "planMember") return formatPlanMember(subject.member);
  if (subject.kind === "uninstallableBundle") return `bundle ${subject.bundle} cannot be installed`;
  return subject.kind === "omitted" ? `and ${subject.count} more objects` : subject.text;
}

function formatExtension({ name, bundle, state, reason, message }: ExtensionSubject): string {
  const states = { ready: "ready", notReady: `not ready: ${reason}: ${message}`, notReconciled: "not reconciled yet" };
  return `ClusterExtension ${name}: ${bundle ? `${bundle.name} (version ${bundle.version})` : "nothing installed"}, ${states[state]}`;
}

/** @param isChild whether the parent is an object, which has the same namespace */
function formatObject({ ref, state, message }: ObjectSubject, isChild: boolean): string {
  const label = describeObject(isChild ? { ...ref, namespace: undefined } : ref);
  if (state === "present") return label;
  if (state === "unreadable") return `${label}: ${message}`;
  return message === "" ? `${label}: ${state}` : `${label}: ${state}: ${message}`;
}

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
export async function showTree(terminal: Terminal, name: string, options: ReleaseOptions): Promise<void> {
  const { systemNamespace } = options;
  const tree = await withCluster(options, (client) => readExtensionTree(client, name, { systemNamespace, now: Date.now() }));
  terminal.out(formatTree(labelTree(tree), terminal.width));
}
