import { Label } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { MoodText } from "../../../pkg/consoleapi/live.ts";

const STATUS = { good: "success", warning: "warning", bad: "danger", faint: "info", strong: "info" } as const;

/** A state with the icon and colour of its mood. */
export function StateLabel({ state: { text: label, mood } }: { readonly state: MoodText }): ReactElement {
  if (mood === undefined || mood === "faint") return <Label variant="outline">{label}</Label>;
  return (
    <Label variant="outline" status={STATUS[mood]}>
      {label}
    </Label>
  );
}
