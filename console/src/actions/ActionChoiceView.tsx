import { Checkbox } from "@patternfly/react-core";
import { type ReactElement, useEffect, useRef } from "react";
import type { ActionChoice, ActionRequest } from "../../../pkg/consoleapi/actions.ts";

/** A wider change that the user can choose, with what it adds. */
export function ActionChoiceView({
  choice: { label, isChosen, items, request },
  isDisabled,
  isReplaced,
  onReplace,
}: {
  readonly choice: ActionChoice;
  readonly isDisabled: boolean;
  /** Whether the dialog replaced another change, and with it the focused checkbox, by this one. */
  readonly isReplaced: boolean;
  /** Prepares the other change in place of this one. */
  readonly onReplace: (request: ActionRequest) => void;
}): ReactElement {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isReplaced) section.current?.querySelector("input")?.focus();
  }, [isReplaced]);
  return (
    <section className="olm-action-choice" ref={section}>
      <Checkbox id="olm-action-choice" label={label} isChecked={isChosen} isDisabled={isDisabled} onChange={() => onReplace(request)} />
      {items.map(({ extension, texts }) => (
        <div key={extension}>
          <bdi>{extension}</bdi>
          <ul className="olm-action-effects">
            {texts.map((text) => (
              <li key={text} className="olm-break">
                {text}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
