import { Label } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { MoodText } from "../../../pkg/consoleapi/live.ts";

const STATUS = { good: "success", warning: "warning", bad: "danger", faint: "info", strong: "info" } as const;

/** A state with the icon and colour of its mood. */
export function StateLabel({
  state: { text: label, mood },
  isCompact = false,
}: {
  readonly state: MoodText;
  readonly isCompact?: boolean;
}): ReactElement {
  if (mood === undefined || mood === "faint") {
    return (
      <Label variant="outline" isCompact={isCompact}>
        {label}
      </Label>
    );
  }
  return (
    <Label variant="outline" status={STATUS[mood]} isCompact={isCompact}>
      {label}
    </Label>
  );
}
