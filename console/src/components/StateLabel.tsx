import type { ReactElement } from "react";
import type { MoodText } from "../../../pkg/consoleapi/live.ts";
import { Label } from "./Label.tsx";

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
      <Label isOutlined isCompact={isCompact}>
        {label}
      </Label>
    );
  }
  return (
    <Label isOutlined status={STATUS[mood]} isCompact={isCompact}>
      {label}
    </Label>
  );
}
