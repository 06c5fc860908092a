import { type KeyboardEvent, type ReactElement, useEffect, useId, useRef } from "react";
import type { GraphDrawing, GraphLane, VersionNode, WhyChannel, WhyVersion } from "../../../../../pkg/consoleapi/why.ts";
import { whyText } from "../../../text/why.ts";
import { VersionIcon } from "./VersionIcon.tsx";

const t = whyText.versions;
const ICON = 14;
const PADDING = 10;
/** Height that must be visible below the upper edge of the selected version. */
const MARGIN = 40;
const TYPES = ["replaces", "skips", "skipRange"] as const;

/** The upgrade graph of a channel: one row for each version, with `replaces` on the left, and `skips` and `skipRange` on the right. */
export function ChannelGraph({
  channel,
  drawing,
  versions,
  selected,
  scale,
  onSelect,
}: {
  readonly channel: WhyChannel;
  readonly drawing: GraphDrawing;
  /** The versions of the catalog by bundle. */
  readonly versions: ReadonlyMap<string, WhyVersion>;
  readonly selected: string | undefined;
  readonly scale: number;
  readonly onSelect: (bundle: string) => void;
}): ReactElement {
  const id = useId();
  const list = useRef<SVGSVGElement>(null);
  const { nodes } = channel;
  const at = nodes.findIndex(({ bundle }) => bundle === selected);
  const move = (event: KeyboardEvent): void => {
    const next = findNext(event.key, at, nodes.length);
    const node = next === undefined ? undefined : nodes[next];
    if (!node) return;
    event.preventDefault();
    onSelect(node.bundle);
    list.current?.querySelectorAll<SVGGElement>("[role=option]")[next ?? 0]?.focus({ preventScroll: true });
  };
  const top = (nodes[at]?.y ?? 0) * scale;
  useEffect(() => {
    // Only the frame of the graph scrolls, not the page.
    const frame = list.current?.parentElement;
    if (!frame) return;
    const isVisible = top >= frame.scrollTop && top + MARGIN <= frame.scrollTop + frame.clientHeight;
    if (!isVisible) frame.scrollTop = top - frame.clientHeight / 2;
  }, [list, top]);
  return (
    <svg
      ref={list}
      className="olm-graph"
      tabIndex={-1}
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- it is a drawing
      role="listbox"
      aria-label={t.graphLabel(channel.name)}
      width={drawing.width * scale}
      height={drawing.height * scale}
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      onKeyDown={move}
    >
      <defs aria-hidden="true">
        {TYPES.map((type) => (
          <marker
            key={type}
            id={`${id}-${type}`}
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="6"
            markerHeight="6"
            orient="auto"
            markerUnits="userSpaceOnUse"
            className={`olm-graph-head olm-graph-${type}`}
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
        ))}
      </defs>
      <g aria-hidden="true">
        {drawing.lanes.map((lane) => (
          <Lane key={`${lane.type} ${lane.to}`} lane={lane} markerId={`${id}-${lane.type}`} isActive={isAt(lane, at)} />
        ))}
      </g>
      {nodes.map((node, index) => (
        <Node
          key={node.bundle}
          node={node}
          box={drawing.box}
          version={versions.get(node.bundle)}
          isSelected={index === at}
          isReachable={index === Math.max(0, at)}
          onSelect={() => onSelect(node.bundle)}
        />
      ))}
    </svg>
  );
}

function isAt({ to, from }: GraphLane, at: number): boolean {
  return at >= 0 && (to === at || from.includes(at));
}

function findNext(key: string, at: number, count: number): number | undefined {
  if (key === "ArrowDown") return Math.min(count - 1, at + 1);
  if (key === "ArrowUp") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}

function Lane({
  lane,
  markerId,
  isActive,
}: {
  readonly lane: GraphLane;
  readonly markerId: string;
  readonly isActive: boolean;
}): ReactElement {
  const { type, range, line, arrow, dots } = lane;
  return (
    <g className={`olm-graph-lane olm-graph-${type}${isActive ? " olm-graph-active" : ""}`}>
      <title>{range === undefined ? type : `${type} ${range}`}</title>
      <path d={line} />
      <path d={arrow} markerEnd={`url(#${markerId})`} />
      {dots.map(({ x, y }) => (
        <circle key={y} cx={x} cy={y} r={2.5} />
      ))}
    </g>
  );
}

function Node({
  node,
  box,
  version,
  isSelected,
  isReachable,
  onSelect,
}: {
  readonly node: VersionNode;
  readonly box: GraphDrawing["box"];
  readonly version: WhyVersion | undefined;
  readonly isSelected: boolean;
  /** Whether the Tab key reaches the node. */
  readonly isReachable: boolean;
  readonly onSelect: () => void;
}): ReactElement {
  const { label, y, isAbsent } = node;
  const kinds = [
    "olm-graph-node",
    `olm-graph-${version?.state ?? "absent"}`,
    ...(isAbsent ? ["olm-graph-absent"] : []),
    ...(version?.isInstalled ? ["olm-graph-installed"] : []),
  ];
  const middle = y + box.height / 2;
  return (
    <g
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- it is a drawing
      role="option"
      aria-selected={isSelected}
      aria-label={`${label}${version?.deprecated === undefined ? "" : `, ${t.deprecatedMark}`}${version?.isInstalled ? `, ${t.installedMark}` : ""}`}
      tabIndex={isReachable ? 0 : -1}
      className={kinds.join(" ")}
      onClick={onSelect}
      onKeyDown={({ key }) => {
        if (key === "Enter") onSelect();
      }}
    >
      <rect className="olm-graph-focus" x={box.x - 3} y={y - 3} width={box.width + 6} height={box.height + 6} rx="7" />
      <rect className="olm-graph-box" x={box.x} y={y} width={box.width} height={box.height} rx="4" />
      <g transform={`translate(${box.x + PADDING} ${middle - ICON / 2})`}>
        <VersionIcon state={version?.state} width={ICON} height={ICON} />
      </g>
      <text
        x={box.x + PADDING + ICON + 6}
        y={middle + 4}
        className={version?.deprecated === undefined ? undefined : "olm-graph-deprecated"}
      >
        {label}
      </text>
    </g>
  );
}

/** The meaning of the lines in a drawing. */
export function GraphLegend({ drawing: { lanes } }: { readonly drawing: GraphDrawing }): ReactElement {
  const shown = TYPES.filter((type) => lanes.some((lane) => lane.type === type));
  return (
    <ul className="olm-graph-legend" aria-label={t.legend}>
      {shown.map((type) => (
        <li key={type}>
          <svg width="34" height="10" viewBox="0 0 34 10" aria-hidden="true" className={`olm-graph-lane olm-graph-${type}`}>
            <path d="M2 5H26" />
            <path className="olm-graph-tip" d="M26 1L34 5L26 9z" />
          </svg>
          {t.edges[type]}
        </li>
      ))}
    </ul>
  );
}
