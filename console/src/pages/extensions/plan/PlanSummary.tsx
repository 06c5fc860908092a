import { ArrowRightIcon } from "@patternfly/react-icons";
import type { ReactElement } from "react";
import type { ExtensionPlan } from "../../../../../pkg/consoleapi/plan.ts";
import { CommandLine } from "../../../components/CommandLine.tsx";
import { Label } from "../../../components/Label.tsx";
import { OfferedActionButton } from "../../../components/OfferedActionButton.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { planText as t } from "../../../text/plan.ts";

const COUNTED = [
  ["Create", "create"],
  ["Update", "update"],
  ["Delete", "delete"],
  ["Unchanged", "unchanged"],
] as const;

/** The verdict, the versions, the number of changes, and the decision of the user. */
export function PlanSummary({ plan }: { readonly plan: ExtensionPlan }): ReactElement {
  const { verdict, installed, bundle, support, explanation, counts, computed, digest, approval, accept, reject, rejectNote, command } =
    plan;
  return (
    <div className="olm-plan-top">
      <div className="olm-plan-summary">
        <p className="olm-plan-versions">
          <bdi>{installed?.version ?? t.nothingInstalled}</bdi>
          <ArrowRightIcon aria-label={t.to} role="img" />
          <bdi>{bundle.version}</bdi>
        </p>
        <p className="olm-subtle olm-break">
          <bdi>{bundle.name}</bdi> {bundle.catalog !== undefined && t.fromCatalog(bundle.catalog)}
        </p>
        <StateLabel state={verdict} />
        {support && (
          <p className="olm-break" dir="auto">
            {t.support} <StateLabel state={support} isCompact />
          </p>
        )}
        {explanation !== "" && (
          <p className="olm-break olm-prose" dir="auto">
            {explanation}
          </p>
        )}
        <ul className="olm-plan-counts">
          {COUNTED.filter(([, member]) => counts[member] > 0).map(([action, member]) => (
            <li key={action}>
              <Label isCompact isOutlined>
                {t.counts[action](counts[member])}
              </Label>
            </li>
          ))}
        </ul>
        <p className="olm-subtle">
          {t.computed} <RelativeTime time={computed} />
        </p>
        {command !== undefined && <CommandLine command={command} label={t.command} />}
      </div>
      {(accept || reject.length > 0 || approval.length > 0) && (
        <TabSection title={t.accept}>
          {approval.map(({ text: sentence, time }) => (
            <p key={sentence} className="olm-break">
              <bdi>{sentence}</bdi> {time !== undefined && <RelativeTime time={time} />}
            </p>
          ))}
          {digest !== undefined && (
            <div className="olm-plan-digest">
              <span className="olm-subtle">{t.digest}</span>
              <CommandLine command={digest} label={t.digest} />
            </div>
          )}
          {accept && <OfferedActionButton offer={accept} variant="primary" />}
          {reject.length > 0 && (
            <div className="olm-plan-reject">
              <h4>{t.reject}</h4>
              <p className="olm-subtle olm-prose">{rejectNote}</p>
              {reject.map((offer) => (
                <OfferedActionButton key={offer.label} offer={offer} size="sm" />
              ))}
            </div>
          )}
        </TabSection>
      )}
    </div>
  );
}
