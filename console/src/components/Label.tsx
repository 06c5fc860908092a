import "@patternfly/patternfly/components/Label/label.css";
import { Button } from "@patternfly/react-core";
import { RhMicronsCloseIcon } from "@patternfly/react-icons";
import type { ReactElement, ReactNode } from "react";
import { STATUSES, type Status } from "./statuses.ts";

/** A short fact in a frame. Unlike that of PatternFly, it does not measure its text or listen to the document, so that tables can have hundreds. */
export function Label({
  children,
  status,
  isOutlined = false,
  isCompact = false,
  isBlue = false,
  title,
  removal,
}: {
  readonly children: ReactNode;
  /** Determines colour and icon; grey without an icon if absent. */
  readonly status?: Status | undefined;
  readonly isOutlined?: boolean;
  readonly isCompact?: boolean;
  readonly isBlue?: boolean;
  readonly title?: string;
  /** The button that removes the label; absent if that is not possible. */
  readonly removal?: { readonly label: string; readonly onRemove: () => void };
}): ReactElement {
  const { className: statusClass, Icon } = status === undefined ? { className: undefined, Icon: undefined } : STATUSES[status];
  const classes = [
    "pf-v6-c-label",
    isOutlined ? "pf-m-outline" : "pf-m-filled",
    isCompact && "pf-m-compact",
    isBlue && "pf-m-blue",
    statusClass,
  ];
  return (
    <span className={classes.filter(Boolean).join(" ")} title={title}>
      <span className="pf-v6-c-label__content">
        {Icon && (
          <span className="pf-v6-c-label__icon">
            <Icon />
          </span>
        )}
        <span className="pf-v6-c-label__text">{children}</span>
      </span>
      {removal && (
        <span className="pf-v6-c-label__actions">
          <Button variant="plain" hasNoPadding aria-label={removal.label} icon={<RhMicronsCloseIcon />} onClick={removal.onRemove} />
        </span>
      )}
    </span>
  );
}
