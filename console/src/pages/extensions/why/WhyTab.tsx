import "./why.css";
import { Button, Title } from "@patternfly/react-core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { Why } from "../../../../../pkg/consoleapi/why.ts";
import { getJson } from "../../../api/request.ts";
import { Alert } from "../../../components/Alert.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { whyText } from "../../../text/why.ts";
import { useExtensionName } from "../extensionName.ts";
import { Funnels } from "./Funnel.tsx";
import { RefusalList } from "./Refusals.tsx";
import { Versions } from "./Versions.tsx";
import { WhatIf } from "./WhatIf.tsx";
import { useWhyParams, type WhyParams } from "./whyParams.ts";

const t = whyText;

function useWhy(extension: string, tried: string) {
  return useQuery({
    queryKey: ["extension", extension, "why", tried],
    queryFn: ({ signal }) => getJson(`/api/extensions/${extension}/why${tried === "" ? "" : `?${tried}`}`, Why, signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

/** Why the extension gets its version: the outcome, every version with its rules, and what other limits would change. */
export default function WhyTab(): ReactElement {
  const extension = useExtensionName();
  const params = useWhyParams();
  const query = useWhy(extension, params.tried);
  const current = useWhy(extension, "").data;
  return (
    <div className="olm-why" aria-busy={query.isPlaceholderData}>
      <Title headingLevel="h2">{t.title}</Title>
      <QueryView query={query} lines={12}>
        {(why) => <Answer extension={extension} why={why} current={current} params={params} />}
      </QueryView>
    </div>
  );
}

function Answer({
  extension,
  why,
  current,
  params,
}: {
  readonly extension: string;
  readonly why: Why;
  readonly current: Why | undefined;
  readonly params: WhyParams;
}): ReactElement {
  const { funnels, refusals, unchecked } = why;
  return (
    <>
      {why.change.isChanged && (
        <Alert
          component="h3"
          status="info"
          title={t.whatIf.trial}
          actions={
            <Button variant="link" onClick={params.reset}>
              {t.whatIf.reset}
            </Button>
          }
        />
      )}
      <Outcome outcome={why.outcome} />
      {unchecked.length > 0 && (
        <Alert component="h3" status="warning" title={t.unchecked}>
          <Lines lines={unchecked} />
        </Alert>
      )}
      {refusals.length > 0 && (
        <Section title={t.refusals.title}>
          <RefusalList refusals={refusals} hasBundle />
        </Section>
      )}
      <Section title={t.versions.title}>
        <Versions extension={extension} why={why} params={params} />
      </Section>
      <Section title={t.whatIf.title} intro={t.whatIf.intro}>
        <WhatIf extension={extension} why={why} current={current} onTry={(limits) => params.tryLimits(limits)} onReset={params.reset} />
      </Section>
      {funnels.length > 0 && (
        <Section title={t.funnel.title}>
          <Funnels funnels={funnels} />
        </Section>
      )}
    </>
  );
}

function Section({
  title,
  intro,
  children,
}: {
  readonly title: string;
  readonly intro?: string;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <section className="olm-section" aria-label={title}>
      <Title headingLevel="h3">{title}</Title>
      {intro !== undefined && <p className="olm-subtle">{intro}</p>}
      {children}
    </section>
  );
}

function Outcome({
  outcome: { state, title, explanation, runnerUp, notes, similarPackages },
}: {
  readonly outcome: Why["outcome"];
}): ReactElement {
  return (
    <div className="olm-outcome">
      <p className="olm-outcome-title olm-break" dir="auto">
        <StateLabel state={state} />
        <strong>{title}</strong>
      </p>
      <p className="olm-break" dir="auto">
        {explanation}
      </p>
      {runnerUp && (
        <p className="olm-break" dir="auto">
          <span className="olm-subtle">{t.runnerUp}:</span> {runnerUp.version ?? runnerUp.bundle}. {runnerUp.because}
        </p>
      )}
      <Lines lines={notes} />
      {similarPackages.length > 0 && (
        <p className="olm-break">
          <span className="olm-subtle">{t.similar}:</span> {similarPackages.join(", ")}
        </p>
      )}
    </div>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }): ReactElement | null {
  if (lines.length === 0) return null;
  return (
    <ul className="olm-bullets">
      {lines.map((line) => (
        <li key={line} className="olm-break" dir="auto">
          {line}
        </li>
      ))}
    </ul>
  );
}
