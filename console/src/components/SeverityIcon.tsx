import { ExclamationCircleIcon, ExclamationTriangleIcon, InfoCircleIcon } from "@patternfly/react-icons";
import type { ReactElement } from "react";
import type { Attention } from "../../../pkg/consoleapi/live.ts";

const ICONS = { error: ExclamationCircleIcon, warning: ExclamationTriangleIcon, info: InfoCircleIcon } as const;

/** How serious something is, as an icon. */
export function SeverityIcon({
  severity,
  label,
}: {
  readonly severity: Attention["severity"];
  /** The severity in words. */
  readonly label: string;
}): ReactElement {
  const Icon = ICONS[severity];
  return (
    <span className={`olm-severity olm-severity-${severity}`} role="img" aria-label={label}>
      <Icon />
    </span>
  );
}
