import { Checkbox } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { ActionChoice, ActionRequest } from "../../../pkg/consoleapi/actions.ts";

/** A wider change that the user can choose, with what it adds. */
export function ActionChoiceView({
  choice: { label, isChosen, items, request },
  isDisabled,
  onReplace,
}: {
  readonly choice: ActionChoice;
  readonly isDisabled: boolean;
  /** Prepares the other change in place of this one. */
  readonly onReplace: (request: ActionRequest) => void;
}): ReactElement {
  return (
    <section className="olm-action-choice">
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
