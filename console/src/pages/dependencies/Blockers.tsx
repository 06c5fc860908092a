import type { ReactElement } from "react";
import { Link } from "react-router";
import type { Blocker } from "../../../../pkg/consoleapi/dependencies.ts";
import { NextStep } from "../../components/NextStep.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { dependenciesText } from "../../text/dependencies.ts";

const t = dependenciesText.blockers;

/** The extensions that cannot be uninstalled while others depend on them. */
export function Blockers({ blockers }: { readonly blockers: readonly Blocker[] }): ReactElement {
  return (
    <ul className="olm-list">
      {blockers.map(({ extension, isWaiting, dependents, next }) => (
        <li key={extension} className="olm-list-item">
          <StateLabel state={isWaiting ? { text: t.waiting, mood: "warning" } : { text: t.needed }} />
          <div className="olm-list-body">
            <span className="olm-list-title olm-break">
              <Link to={`/extensions/${extension}`}>{extension}</Link>
            </span>
            {dependents.map((dependent) => (
              <p key={dependent.extension} className="olm-break" dir="auto">
                {t.by(dependent.extension)} {dependent.needs.join(", ")}
              </p>
            ))}
            {isWaiting && next !== undefined && <NextStep step={next} />}
          </div>
        </li>
      ))}
    </ul>
  );
}
