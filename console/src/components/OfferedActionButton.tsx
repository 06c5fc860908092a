import type { ReactElement } from "react";
import type { OfferedAction } from "../../../pkg/consoleapi/plan.ts";
import { ActionButton, type ActionButtonProps } from "./ActionButton.tsx";

/** A button for an action that the server offers, with its meaning. */
export function OfferedActionButton({
  offer: { label, meaning, request },
  ...look
}: { readonly offer: OfferedAction } & Pick<ActionButtonProps, "variant" | "isDanger" | "size">): ReactElement {
  return (
    <div className="olm-offer">
      <ActionButton request={request} {...look}>
        {label}
      </ActionButton>
      <span className="olm-subtle">{meaning}</span>
    </div>
  );
}
