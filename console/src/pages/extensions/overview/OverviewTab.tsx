import { Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useId } from "react";
import { Link } from "react-router";
import { ExtensionOverview } from "../../../../../pkg/consoleapi/overview.ts";
import { getJson } from "../../../api/request.ts";
import { useLive } from "../../../app/consoleState.tsx";
import { EventList } from "../../../components/EventList.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { overviewText as t } from "../../../text/overview.ts";
import { ExtensionAttention } from "../ExtensionHeader.tsx";
import { useExtensionName } from "../extensionName.ts";
import { buildObjectPath } from "../objects/objectLink.ts";
import { ConditionList } from "./ConditionList.tsx";
import { DependencyPlan } from "./DependencyPlan.tsx";
import { ProblemList } from "./ProblemList.tsx";
import { SummaryList } from "./SummaryList.tsx";

/** Everything about the state of an extension. */
export default function OverviewTab(): ReactElement {
  const name = useExtensionName();
  const query = useQuery({
    queryKey: ["extension", name, "overview"],
    queryFn: ({ signal }) => getJson(`/api/extensions/${encodeURIComponent(name)}/overview`, ExtensionOverview, signal),
  });
  const row = useLive().extensions.get(name);
  return (
    <>
      {query.data === undefined && query.isError && row && <ExtensionAttention row={row} />}
      <QueryView query={query}>{(overview) => <Overview overview={overview} />}</QueryView>
    </>
  );
}

function Overview({ overview }: { readonly overview: ExtensionOverview }): ReactElement {
  const { name, problems, omittedProblems, hasConditionsOnly, plan, partOf, catalogs, conditions, keptCrds, events } = overview;
  return (
    <div className="olm-overview">
      <div>
        <Section title={t.problems}>
          {hasConditionsOnly ? (
            <p className="olm-subtle">{t.conditionsOnly}</p>
          ) : (
            <ProblemList extension={name} problems={problems} omitted={omittedProblems} />
          )}
        </Section>
        {partOf.map((root) => (
          <p key={root}>
            {t.partOf} <Link to={`/extensions/${root}`}>{root}</Link>
          </p>
        ))}
        {plan && (
          <Section title={t.plan}>
            <DependencyPlan plan={plan} />
          </Section>
        )}
        {(!Array.isArray(catalogs) || catalogs.length > 0) && (
          <Section title={t.catalogs}>
            <Catalogs catalogs={catalogs} />
          </Section>
        )}
        <Section title={t.objects}>
          <Objects overview={overview} />
        </Section>
        <Section title={t.conditions}>
          <ConditionList conditions={conditions} />
        </Section>
        {keptCrds.length > 0 && (
          <Section title={t.kept}>
            <ul className="olm-details">
              {keptCrds.map((crd) => (
                <li key={crd.name}>
                  <bdi className="olm-break">{crd.name}</bdi>
                  <span className="olm-break olm-subtle" dir="auto">
                    {crd.message}
                  </span>
                </li>
              ))}
            </ul>
          </Section>
        )}
      </div>
      <div>
        <Section title={t.summary}>
          <SummaryList summary={overview.summary} />
        </Section>
        <Section title={t.events}>
          <EventList events={events} />
        </Section>
      </div>
    </div>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  const id = useId();
  return (
    <section className="olm-overview-section" aria-labelledby={id}>
      <Title headingLevel="h2" size="lg" id={id}>
        {title}
      </Title>
      {children}
    </section>
  );
}

function Catalogs({ catalogs }: Pick<ExtensionOverview, "catalogs">): ReactElement {
  if (!Array.isArray(catalogs)) {
    return (
      <p className="olm-break" dir="auto">
        {catalogs.error}
      </p>
    );
  }
  return (
    <ul className="olm-list">
      {catalogs.map(({ name, state, message }) => (
        <li key={name} className="olm-condition">
          <p className="olm-list-title">
            <Link to={`/catalogs/${name}`}>{name}</Link>
            <StateLabel state={state} />
          </p>
          <p className="olm-break olm-lines" dir="auto">
            {message}
          </p>
        </li>
      ))}
    </ul>
  );
}

function Objects({ overview: { name, objects, problems } }: { readonly overview: ExtensionOverview }): ReactElement {
  const { count, unknown = "", notReady } = objects;
  if (count === 0) return <p className="olm-subtle">{t.noObjects}</p>;
  return (
    <>
      <p className="olm-subtle">{count === undefined ? t.objectsUnknown(unknown) : t.objectCount(count, notReady.length)}</p>
      {notReady.length > 0 && (
        <ul className="olm-list">
          {notReady.map(({ object, state, message }) => (
            <li key={`${object.kind} ${object.namespace ?? ""} ${object.name}`} className="olm-condition">
              <p className="olm-list-title">
                <Link to={buildObjectPath(name, object)} className="olm-break">
                  {`${object.kind} ${object.name}`}
                </Link>
                <StateLabel state={state} />
              </p>
              {!problems.some((problem) => problem.message.includes(message)) && (
                <p className="olm-break" dir="auto">
                  {message}
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      {count !== undefined && (
        <p>
          <Link to={`/extensions/${name}/objects`}>{t.showObjects}</Link>
        </p>
      )}
    </>
  );
}
