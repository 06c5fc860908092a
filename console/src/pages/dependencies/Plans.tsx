import { Progress, ProgressMeasureLocation } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { PlanProgressView } from "../../../../pkg/consoleapi/dependencies.ts";
import { Alert } from "../../components/Alert.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { dependenciesText } from "../../text/dependencies.ts";

const t = dependenciesText.plans;

/** The dependency plans in progress, with the bundles of each wave. */
export function Plans({ plans }: { readonly plans: readonly PlanProgressView[] }): ReactElement {
  return (
    <div className="olm-plans">
      {plans.map((plan) => (
        <Plan key={plan.extension} plan={plan} />
      ))}
    </div>
  );
}

function Plan({ plan: { extension, installed, all, failure, members } }: { readonly plan: PlanProgressView }): ReactElement {
  return (
    <div className="olm-plan">
      <Progress
        title={t.progress(extension, installed, all)}
        aria-label={t.label(extension)}
        value={installed}
        max={all}
        measureLocation={ProgressMeasureLocation.none}
        size="sm"
      />
      {failure !== undefined && <Alert isPlain component="h3" status="danger" title={<span className="olm-break">{failure}</span>} />}
      <ol className="olm-list">
        {members.map(({ wave, extension: member, bundle, state, why, reason }) => (
          <li key={`${wave} ${member}`} className="olm-list-item">
            <StateLabel state={state} />
            <div className="olm-list-body">
              <span className="olm-list-title olm-break">
                <Link to={`/extensions/${member}`}>{member}</Link>
                <span className="olm-subtle">
                  <bdi>{bundle}</bdi>, {t.wave(wave).toLowerCase()}
                </span>
              </span>
              {reason !== undefined && (
                <p className="olm-break" dir="auto">
                  <span className="olm-subtle">{t.for}</span> {reason}
                </p>
              )}
              {why !== "" && (
                <p className="olm-break" dir="auto">
                  {why}
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
