import type { MoodText } from "../../consoleapi/live.ts";
import type { ObjectTree, ObjectTreeNode } from "../../consoleapi/objects.ts";
import { getObjectKey } from "../../release/identity.ts";
import type { ExtensionSubject, NodeSubject, ObjectNode, ObjectSubject } from "../../rollout/objectTree.ts";
import { formatCount } from "../../text/lists.ts";
import { truncate } from "../../text/truncate.ts";
import { isFailingState, toObjectState } from "../objects/objectState.ts";
import { toReference } from "../objects/objectView.ts";
import { PLAN_MEMBER_STATES } from "./planMemberStates.ts";

const MAX_MESSAGE = 1_024;
const EXTENSION_STATES: Readonly<Record<ExtensionSubject["state"], MoodText>> = {
  ready: { text: "ready", mood: "good" },
  notReady: { text: "not ready", mood: "bad" },
  notReconciled: { text: "not reconciled yet", mood: "faint" },
};

type NodeView = Omit<ObjectTreeNode, "id" | "isFailing" | "children">;

/** Returns the tree of an extension for the page: at each level, the nodes that do not work first, else in the order of the tree. */
export function buildTreeView(tree: ObjectNode): ObjectTree {
  const root = toTreeNode(tree);
  return { root, failing: countFailing(root) };
}

/** The parent of a node. */
interface ParentNode {
  readonly id: string;
  readonly subject: NodeSubject;
}

function toTreeNode({ subject, children }: ObjectNode, parent?: ParentNode): ObjectTreeNode {
  const view = describeSubject(subject, parent?.subject);
  const id = `${parent === undefined ? "" : `${parent.id}|`}${identify(subject)}`;
  const below = children.map((child) => toTreeNode(child, { id, subject }));
  return {
    ...view,
    message: truncate(view.message, MAX_MESSAGE),
    id,
    isFailing: isFailing(subject) || below.some((child) => child.isFailing),
    children: below.sort((one, other) => Number(other.isFailing) - Number(one.isFailing)),
  };
}

function countFailing({ isFailing: isOwn, children }: ObjectTreeNode): number {
  const below = children.reduce((sum, child) => sum + countFailing(child), 0);
  return below > 0 ? below : Number(isOwn);
}

function identify(subject: NodeSubject): string {
  if (subject.kind === "object") return getObjectKey(subject.ref);
  if (subject.kind === "extension") return `extension/${subject.name}`;
  if (subject.kind === "planMember") return `member/${subject.member.bundle.name}`;
  if (subject.kind === "uninstallableBundle") return `bundle/${subject.bundle ?? ""}`;
  return subject.kind === "note" ? `note/${subject.text}` : subject.kind;
}

function isFailing(subject: NodeSubject): boolean {
  if (subject.kind === "object") return isFailingState(subject.state);
  if (subject.kind === "extension") return subject.state === "notReady";
  return subject.kind === "uninstallableBundle" || (subject.kind === "planMember" && subject.member.state === "blocked");
}

function describeSubject(subject: NodeSubject, parent: NodeSubject | undefined): NodeView {
  const plain = { title: "", text: "", message: "" };
  if (subject.kind === "extension") return describeExtension(subject);
  if (subject.kind === "object") return describeObject(subject, parent?.kind === "object");
  if (subject.kind === "planMember") {
    const { bundle, extension, state, why } = subject.member;
    return { kind: "planMember", title: "Bundle", text: bundle.name, message: why, state: PLAN_MEMBER_STATES[state], extension };
  }
  if (subject.kind === "plan")
    return { ...plain, kind: "plan", text: `Dependency plan: ${subject.installed} of ${formatCount(subject.all, "bundle")} installed` };
  if (subject.kind === "uninstallableBundle")
    return {
      ...plain,
      kind: "bundle",
      text: `Bundle ${subject.bundle ?? ""} cannot be installed`,
      state: { text: "blocked", mood: "bad" },
    };
  if (subject.kind === "omitted") return { ...plain, kind: "omitted", text: `and ${subject.count} more objects` };
  return { ...plain, kind: "note", text: truncate(subject.text, MAX_MESSAGE) };
}

function describeExtension({ name, bundle, state, reason, message }: ExtensionSubject): NodeView {
  return {
    kind: "extension",
    title: "ClusterExtension",
    text: bundle ? `${name} (${bundle.name})` : name,
    message: reason === "" ? "" : `${reason}: ${message}`,
    state: EXTENSION_STATES[state],
    extension: name,
  };
}

/** @param isChild whether the parent is an object, which has the same namespace */
function describeObject({ ref, state, message }: ObjectSubject, isChild: boolean): NodeView {
  const canRead = state !== "missing" && state !== "unreadable";
  return {
    kind: "object",
    title: ref.kind,
    text: isChild || ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`,
    message,
    state: toObjectState(state),
    ...(canRead ? { object: toReference(ref) } : {}),
  };
}
