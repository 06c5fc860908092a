import type { ReactElement } from "react";
import type { ConditionRow } from "../../../../../pkg/consoleapi/overview.ts";
import { NextSteps } from "../../../components/NextStep.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { overviewText as t } from "../../../text/overview.ts";

/** The conditions of an extension, each with its meaning and the next steps. */
export function ConditionList({ conditions }: { readonly conditions: readonly ConditionRow[] }): ReactElement {
  if (conditions.length === 0) return <p className="olm-subtle">{t.noConditions}</p>;
  return (
    <ul className="olm-list">
      {conditions.map((condition) => (
        <Condition key={condition.type} condition={condition} />
      ))}
    </ul>
  );
}

function Condition({ condition }: { readonly condition: ConditionRow }): ReactElement {
  const { type, reason, state, message, since, see, means, next } = condition;
  return (
    <li className="olm-condition">
      <div className="olm-list-title">
        <bdi className="olm-break">{type}</bdi>
        <StateLabel state={state} />
        <bdi className="olm-subtle olm-break">{reason}</bdi>
        <span className="olm-subtle">
          <RelativeTime time={since} />
        </span>
      </div>
      {see !== undefined && <p className="olm-subtle">{t.see(see)}</p>}
      {means !== "" && (
        <p className="olm-break" dir="auto">
          {means}
        </p>
      )}
      {message !== "" && (
        <p className="olm-break olm-lines olm-subtle" dir="auto">
          {message}
        </p>
      )}
      <NextSteps steps={next} />
    </li>
  );
}
