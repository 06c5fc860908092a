import {
  CheckCircleIcon,
  ExclamationCircleIcon,
  ExclamationTriangleIcon,
  InProgressIcon,
  ServerIcon,
  UnlinkIcon,
} from "@patternfly/react-icons";
import { type ReactElement, useId, useState } from "react";
import { Link } from "react-router";
import type { DependencyEdge, DependencyNode, DependencyGraph as Graph } from "../../../../pkg/consoleapi/dependencies.ts";
import type { StateMood } from "../../../../pkg/consoleapi/live.ts";
import { dependenciesText } from "../../text/dependencies.ts";

const t = dependenciesText.graph;
const STATES = ["met", "unmet", "planned"] as const;
const ICONS: Readonly<Record<StateMood, typeof CheckCircleIcon>> = {
  good: CheckCircleIcon,
  warning: ExclamationTriangleIcon,
  bad: ExclamationCircleIcon,
  faint: InProgressIcon,
  strong: InProgressIcon,
};

/** The graph of dependencies. The requirements below it are the same as a table. */
export function DependencyGraph({ graph }: { readonly graph: Graph }): ReactElement {
  const id = useId();
  const [active, setActive] = useState<string>();
  const { width, height, node: size, nodes, edges } = graph;
  const needs = (node: DependencyNode): string => {
    const own = edges.filter(({ from }) => from === node.id).flatMap(({ requirements }) => requirements);
    return own.length > 0 ? t.needs(node.label, own.join("; ")) : node.label;
  };
  return (
    <div className="olm-dependency-panel">
      <Legend />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls needs the keyboard focus */}
      <section className="olm-dependency-scroll" aria-label={t.label} tabIndex={0}>
        <div className="olm-dependency-canvas" style={{ width, height }}>
          <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
            <defs>
              <marker
                id={id}
                viewBox="0 0 8 8"
                refX="8"
                refY="4"
                markerWidth="9"
                markerHeight="9"
                orient="auto"
                markerUnits="userSpaceOnUse"
                className="olm-dependency-head"
              >
                <path d="M0 0L8 4L0 8z" />
              </marker>
            </defs>
            {edges.map((edge) => (
              <Edge key={`${edge.from} ${edge.to}`} edge={edge} markerId={id} isActive={active === edge.from || active === edge.to} />
            ))}
          </svg>
          <ul>
            {nodes.map((node) => (
              <li
                key={node.id}
                className={`olm-dependency-node olm-dependency-${node.kind}`}
                style={{ left: node.x, top: node.y, width: size.width, height: size.height }}
              >
                <Node node={node} title={needs(node)} setActive={(isActive) => setActive(isActive ? node.id : undefined)} />
              </li>
            ))}
          </ul>
        </div>
      </section>
    </div>
  );
}

function Edge({
  edge: { state, path, requirements },
  markerId,
  isActive,
}: {
  readonly edge: DependencyEdge;
  readonly markerId: string;
  readonly isActive: boolean;
}): ReactElement {
  return (
    <path
      d={path}
      markerEnd={`url(#${markerId})`}
      className={`olm-dependency-edge olm-dependency-${state}${isActive ? " olm-dependency-active" : ""}`}
    >
      <title>{requirements.join("; ")}</title>
    </path>
  );
}

function Node({
  node: { kind, label, detail, state },
  title,
  setActive,
}: {
  readonly node: DependencyNode;
  readonly title: string;
  /** Emphasizes the arrows of the node. */
  readonly setActive: (isActive: boolean) => void;
}): ReactElement {
  const Icon = kind === "missing" ? UnlinkIcon : kind === "cluster" ? ServerIcon : ICONS[state?.mood ?? "faint"];
  const content = (
    <>
      <Icon aria-hidden="true" className={`olm-dependency-icon-${kind === "missing" ? "bad" : (state?.mood ?? "faint")}`} />
      <span>
        <strong>
          <bdi>{label}</bdi>
        </strong>
        <small>
          <bdi>{detail}</bdi>
        </small>
      </span>
      {state && <span className="pf-v6-screen-reader">{state.text}</span>}
    </>
  );
  if (kind !== "extension") return <div title={title}>{content}</div>;
  return (
    <Link
      to={`/extensions/${label}`}
      title={title}
      onFocus={() => setActive(true)}
      onBlur={() => setActive(false)}
      onMouseEnter={() => setActive(true)}
      onMouseLeave={() => setActive(false)}
    >
      {content}
    </Link>
  );
}

function Legend(): ReactElement {
  return (
    <ul className="olm-dependency-legend">
      {STATES.map((state) => (
        <li key={state}>
          <svg width="34" height="10" viewBox="0 0 34 10" aria-hidden="true">
            <path d="M2 5H32" className={`olm-dependency-edge olm-dependency-${state}`} />
          </svg>
          {t.legend[state]}
        </li>
      ))}
    </ul>
  );
}
