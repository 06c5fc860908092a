import { Progress } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { ExtensionOverview } from "../../../../../pkg/consoleapi/overview.ts";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { overviewText as t } from "../../../text/overview.ts";

/** The progress of a dependency plan, with all bundles by wave. */
export function DependencyPlan({ plan }: { readonly plan: NonNullable<ExtensionOverview["plan"]> }): ReactElement {
  const { installed, all, failure, members } = plan;
  return (
    <>
      <Progress
        value={all === 0 ? 0 : (installed / all) * 100}
        title={t.planProgress(installed, all)}
        aria-label={t.plan}
        measureLocation="none"
        size="sm"
      />
      {failure !== undefined && (
        <p className="olm-break" dir="auto">
          {failure}
        </p>
      )}
      <ol className="olm-list">
        {members.map(({ wave, bundle, extension, state, why }) => (
          <li key={bundle} className="olm-condition">
            <p className="olm-list-title">
              <span className="olm-subtle">{`${t.planTable.wave} ${wave}`}</span>
              <bdi className="olm-break">{bundle}</bdi>
              <StateLabel state={state} />
              <Link to={`/extensions/${extension}`}>{extension}</Link>
            </p>
            {why !== "" && (
              <p className="olm-break" dir="auto">
                {why}
              </p>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}
