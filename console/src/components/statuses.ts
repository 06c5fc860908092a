import { RhUiCheckCircleFillIcon, RhUiErrorFillIcon, RhUiInformationFillIcon, RhUiWarningFillIcon } from "@patternfly/react-icons";

/** The class and the icon of each status. */
export const STATUSES = {
  success: { className: "pf-m-success", Icon: RhUiCheckCircleFillIcon },
  warning: { className: "pf-m-warning", Icon: RhUiWarningFillIcon },
  danger: { className: "pf-m-danger", Icon: RhUiErrorFillIcon },
  info: { className: "pf-m-info", Icon: RhUiInformationFillIcon },
} as const;

/** How good something is. */
export type Status = keyof typeof STATUSES;
