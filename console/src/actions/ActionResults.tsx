import { CheckCircleIcon, ExclamationCircleIcon } from "@patternfly/react-icons";
import type { ReactElement } from "react";
import type { ActionResult } from "../../../pkg/consoleapi/actions.ts";
import { Alert } from "../components/Alert.tsx";
import { actionsText as text } from "../text/actions.ts";

/** The results of the requests of a change. */
export function ActionResults({ result: { isOk, results } }: { readonly result: ActionResult }): ReactElement {
  return (
    <Alert isLiveRegion status={isOk ? "success" : "danger"} component="h2" title={isOk ? text.done : text.partly}>
      <ul className="olm-action-results">
        {results.map(({ description, isOk: isDone, message }) => (
          <li key={description} className="olm-break">
            {isDone ? <CheckCircleIcon aria-hidden="true" /> : <ExclamationCircleIcon aria-hidden="true" />} {description}: {message}
          </li>
        ))}
      </ul>
    </Alert>
  );
}
