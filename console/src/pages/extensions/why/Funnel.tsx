import { Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { CatalogFunnel } from "../../../../../pkg/consoleapi/why.ts";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { whyText } from "../../../text/why.ts";

const t = whyText.funnel;

/** How many candidates each filter kept and removed in each catalog. */
export function Funnels({ funnels }: { readonly funnels: readonly CatalogFunnel[] }): ReactElement {
  return (
    <div className="olm-funnels">
      {funnels.map((funnel) => (
        <Funnel key={funnel.catalog} funnel={funnel} />
      ))}
    </div>
  );
}

function Funnel({ funnel: { catalog, priority, state, because, bundles, steps, near } }: { readonly funnel: CatalogFunnel }): ReactElement {
  return (
    <section className="olm-funnel" aria-label={t.label(catalog)}>
      <div className="olm-why-heading">
        <Title headingLevel="h4" className="olm-break">
          <bdi>{catalog}</bdi>
        </Title>
        <StateLabel state={state} />
        <span className="olm-subtle">{t.priority(priority)}</span>
      </div>
      {because !== undefined && (
        <p className="olm-break" dir="auto">
          {because}
        </p>
      )}
      {bundles > 0 && (
        <ol className="olm-funnel-steps">
          <Bar label={t.bundles(bundles)} left={bundles} all={bundles} />
          {steps.map((step) => (
            <Bar key={step.filter} label={step.title} detail={step.asks} left={step.left} all={bundles} step={step} />
          ))}
        </ol>
      )}
      {near.length > 0 && (
        <>
          <Title headingLevel="h5">{t.near}</Title>
          <ul className="olm-bullets">
            {near.map((text) => (
              <li key={text} className="olm-break" dir="auto">
                {text}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** The candidates that are left after a filter, as a bar and in numbers, with the removed ones to open. */
function Bar({
  label,
  detail,
  left,
  all,
  step,
}: {
  readonly label: string;
  readonly detail?: string;
  readonly left: number;
  readonly all: number;
  readonly step?: CatalogFunnel["steps"][number];
}): ReactElement {
  return (
    <li>
      <div className="olm-funnel-label">
        <strong>{label}</strong>
        {detail !== undefined && (
          <span className="olm-subtle olm-break" dir="auto">
            {detail}
          </span>
        )}
      </div>
      <div className="olm-funnel-bar" aria-hidden="true">
        <span style={{ inlineSize: `${(left / all) * 100}%` }} />
      </div>
      {step && (
        <p className="olm-funnel-count">
          {t.left} {step.left}, {t.removed.toLowerCase()} {step.removed}
        </p>
      )}
      {step && step.last.length > 0 && (
        <details>
          <summary>{t.removedList(step.removed)}</summary>
          <ul className="olm-bullets">
            {step.last.map(({ bundle, version, rule }) => (
              <li key={bundle} className="olm-break" dir="auto">
                <strong>{version ?? bundle}</strong>: {rule}
              </li>
            ))}
            {step.removed > step.last.length && <li className="olm-subtle">{t.more(step.removed - step.last.length)}</li>}
          </ul>
        </details>
      )}
    </li>
  );
}
