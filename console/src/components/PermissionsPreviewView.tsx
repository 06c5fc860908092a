import type { ReactElement } from "react";
import type { PermissionsPreview } from "../../../pkg/consoleapi/rules.ts";
import { planText as t } from "../text/plan.ts";
import { RuleListView } from "./RuleListView.tsx";

/** What permission-manager would decide about a bundle. */
export function PermissionsPreviewView({ preview }: { readonly preview: PermissionsPreview }): ReactElement {
  const { sentences, policy, account, added, removed } = preview;
  return (
    <>
      <p className="olm-subtle olm-break">
        {t.account} {account}, {t.policy.toLowerCase()} {policy}
      </p>
      {sentences.map((sentence) => (
        <p key={sentence} className="olm-break olm-prose">
          {sentence}
        </p>
      ))}
      {added.count === 0 && removed.count === 0 && <p>{t.unchanged}</p>}
      {added.count > 0 && (
        <div className="olm-stack">
          <h4>{t.added}</h4>
          <RuleListView list={added} withOutcome />
        </div>
      )}
      {removed.count > 0 && (
        <div className="olm-stack">
          <h4>{t.removed}</h4>
          <RuleListView list={removed} />
        </div>
      )}
      {added.count + removed.count > 0 && <p className="olm-subtle">{t.manageNote}</p>}
    </>
  );
}
