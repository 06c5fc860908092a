import { AngleDownIcon, AngleRightIcon } from "@patternfly/react-icons";
import { type KeyboardEvent, type ReactElement, useMemo, useRef, useState } from "react";
import type { ObjectTreeNode } from "../../../../../pkg/consoleapi/objects.ts";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { objectsText as t } from "../../../text/objects.ts";
import { formatReference } from "./objectLink.ts";
import { findAncestors, findTreeMove, listTreeRows, type TreeRow } from "./treeRows.ts";

/** The tree of an extension. Arrow keys move, expand and collapse; Enter and Space select. */
export function ObjectTreeView({
  label,
  root,
  isFiltered,
  selected,
  onSelect,
}: {
  readonly label: string;
  readonly root: ObjectTreeNode;
  /** Whether the tree is the part that matches a search. */
  readonly isFiltered: boolean;
  /** The selected object as `formatReference` returns it. */
  readonly selected: string | undefined;
  readonly onSelect: (node: ObjectTreeNode) => void;
}): ReactElement {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(() => (isFiltered ? new Set() : expandTo(root, selected)));
  const rows = useMemo(() => listTreeRows(root, toggled, isFiltered), [root, toggled, isFiltered]);
  const [focused, setFocused] = useState<string>();
  const list = useRef<HTMLDivElement>(null);
  const current = rows.find(({ node }) => node.id === focused) ?? rows.find(({ node }) => isSelected(node, selected)) ?? rows[0];
  const toggle = (id: string): void =>
    setToggled((old) => (old.has(id) ? new Set([...old].filter((one) => one !== id)) : new Set([...old, id])));
  const handleKey = (event: KeyboardEvent): void => {
    if (!current || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onSelect(current.node);
      return;
    }
    const move = findTreeMove(rows, current.node.id, event.key);
    if (!move) return;
    event.preventDefault();
    if ("toggle" in move) toggle(move.toggle);
    else {
      setFocused(move.focus);
      list.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(move.focus)}"]`)?.focus();
    }
  };
  return (
    <div role="tree" aria-label={label} className="olm-tree" ref={list}>
      {rows.map((row) => (
        <TreeItem
          key={row.node.id}
          row={row}
          isFocusable={row === current}
          isSelected={isSelected(row.node, selected)}
          onKey={handleKey}
          onToggle={() => toggle(row.node.id)}
          onSelect={() => {
            setFocused(row.node.id);
            onSelect(row.node);
          }}
        />
      ))}
    </div>
  );
}

function isSelected({ object }: ObjectTreeNode, selected: string | undefined): boolean {
  return object !== undefined && selected !== undefined && formatReference(object) === selected;
}

/** Expands the nodes above the selected one that are collapsed by default. */
function expandTo(root: ObjectTreeNode, selected: string | undefined): ReadonlySet<string> {
  const above = findAncestors(root, (node) => isSelected(node, selected)) ?? [];
  const byDefault = new Set(listTreeRows(root, new Set()).flatMap(({ node, isExpanded }) => (isExpanded ? [node.id] : [])));
  return new Set(above.filter((id) => !byDefault.has(id)));
}

function TreeItem({
  row,
  isFocusable,
  isSelected: isCurrent,
  onKey,
  onToggle,
  onSelect,
}: {
  readonly row: TreeRow;
  readonly isFocusable: boolean;
  readonly isSelected: boolean;
  readonly onKey: (event: KeyboardEvent) => void;
  readonly onToggle: () => void;
  readonly onSelect: () => void;
}): ReactElement {
  const { node, level, position, siblings, isExpanded } = row;
  const { id, title, text, message, state } = node;
  const Icon = isExpanded ? AngleDownIcon : AngleRightIcon;
  return (
    <div
      role="treeitem"
      data-node={id}
      tabIndex={isFocusable ? 0 : -1}
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={isExpanded}
      aria-selected={isCurrent}
      className="olm-tree-item"
      style={{ paddingInlineStart: `calc(${level - 1} * var(--olm-tree-indent))` }}
      onClick={onSelect}
      onKeyDown={onKey}
    >
      <span
        className="olm-tree-toggle"
        aria-hidden="true"
        title={isExpanded === undefined ? undefined : isExpanded ? t.collapse(text) : t.expand(text)}
        onClick={(event) => {
          if (isExpanded === undefined) return;
          event.stopPropagation();
          onToggle();
        }}
      >
        {isExpanded !== undefined && <Icon />}
      </span>
      <span className="olm-tree-text">
        <span className="olm-tree-head">
          {title !== "" && <bdi className="olm-subtle">{title}</bdi>}
          <bdi className="olm-break">{text}</bdi>
          {state && <StateLabel state={state} isCompact />}
        </span>
        {message !== "" && level > 1 && (
          <span className="olm-tree-message olm-break" dir="auto">
            {message}
          </span>
        )}
      </span>
    </div>
  );
}
