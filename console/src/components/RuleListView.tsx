import "./changes.css";

import type { ReactElement } from "react";
import type { RuleList, RuleRow } from "../../../pkg/consoleapi/rules.ts";
import { planText as t } from "../text/plan.ts";
import { Label } from "./Label.tsx";

const OUTCOMES = { Granted: "success", Pending: "warning", Denied: "danger" } as const;
const LEVELS = { RootEquivalent: "danger", Broad: "warning" } as const;

/** Rules of RBAC, grouped by scope, with their risks. */
export function RuleListView({ list, withOutcome = false }: { readonly list: RuleList; readonly withOutcome?: boolean }): ReactElement {
  if (list.count === 0) return <p className="olm-subtle">{t.noRules}</p>;
  const omitted = list.count - list.scopes.reduce((sum, { rules }) => sum + rules.length, 0);
  return (
    <div className="olm-scopes">
      {list.scopes.map(({ namespace, rules }) => (
        <div key={namespace} className="olm-scope">
          <p className="olm-subtle olm-break">{namespace === "" ? t.clusterWide : t.inNamespace(namespace)}</p>
          <ul className="olm-scope-rules">
            {rules.map((rule) => (
              <li key={`${rule.text} ${rule.outcome} ${rule.note}`}>
                <Rule rule={rule} withOutcome={withOutcome} />
              </li>
            ))}
          </ul>
        </div>
      ))}
      {omitted > 0 && <p className="olm-subtle">{t.omittedRules(omitted)}</p>}
    </div>
  );
}

function Rule({
  rule: { text, outcome, risk, note },
  withOutcome,
}: {
  readonly rule: RuleRow;
  readonly withOutcome: boolean;
}): ReactElement {
  return (
    <>
      <div className="olm-rule">
        <code className="olm-break">{text}</code>
        {withOutcome && outcome && (
          <Label isCompact isOutlined status={OUTCOMES[outcome]}>
            {t.outcomes[outcome]}
          </Label>
        )}
        {risk && (
          <Label isCompact status={LEVELS[risk.level]}>
            {t.levels[risk.level]}: {risk.name}
          </Label>
        )}
      </div>
      {risk && <p className="olm-subtle olm-break">{risk.meaning}</p>}
      {note !== undefined && (
        <p className="olm-subtle olm-break" dir="auto">
          {note}
        </p>
      )}
    </>
  );
}
