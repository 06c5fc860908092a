import "@patternfly/patternfly/components/Alert/alert.css";
import type { ReactElement, ReactNode } from "react";
import { text } from "../text/en.ts";
import { STATUSES, type Status } from "./statuses.ts";

/** A message in the flow of a page. */
export function Alert({
  status,
  title,
  component: Title,
  isPlain = false,
  isLiveRegion = false,
  className = "",
  actions,
  children,
}: {
  readonly status: Status;
  readonly title: ReactNode;
  /** Element of the title: a heading of the level of its place, or a paragraph. */
  readonly component: "h2" | "h3" | "h4" | "p";
  /** Whether it has no frame. */
  readonly isPlain?: boolean;
  /** Whether assistive technologies read it when it appears. */
  readonly isLiveRegion?: boolean;
  readonly className?: string;
  /** Links and buttons. */
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}): ReactElement {
  const { className: statusClass, Icon } = STATUSES[status];
  return (
    <div
      className={`pf-v6-c-alert pf-m-inline ${isPlain ? "pf-m-plain " : ""}${statusClass} ${className}`}
      aria-live={isLiveRegion ? "polite" : undefined}
    >
      <div className="pf-v6-c-alert__icon">
        <Icon />
      </div>
      <Title className="pf-v6-c-alert__title">
        <span className="pf-v6-screen-reader">{text.status[status]}: </span>
        {title}
      </Title>
      {children !== undefined && <div className="pf-v6-c-alert__description">{children}</div>}
      {actions !== undefined && <div className="pf-v6-c-alert__action-group">{actions}</div>}
    </div>
  );
}
