import "./dependencies.css";
import { EmptyState, EmptyStateBody, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { DependencyMap } from "../../../../pkg/consoleapi/dependencies.ts";
import { getJson } from "../../api/request.ts";
import { PageTitle } from "../../app/PageTitle.tsx";
import { Alert } from "../../components/Alert.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { dependenciesText } from "../../text/dependencies.ts";
import { Blockers } from "./Blockers.tsx";
import { DependencyGraph } from "./DependencyGraph.tsx";
import { Plans } from "./Plans.tsx";
import { RequirementTable } from "./RequirementTable.tsx";

const t = dependenciesText;

/** Who needs whom on the cluster, and what follows from it: plans in progress, and uninstalls that wait. */
export default function DependenciesPage(): ReactElement {
  const query = useQuery({
    queryKey: ["extensions", "dependencies"],
    queryFn: ({ signal }) => getJson("/api/dependencies", DependencyMap, signal),
  });
  return (
    <PageSection className="olm-page">
      <PageTitle title={t.title} />
      <header className="olm-page-header">
        <Title headingLevel="h1">{t.title}</Title>
        <p className="olm-subtle">{t.intro}</p>
      </header>
      <QueryView query={query} lines={10}>
        {(dependencies) => <Content dependencies={dependencies} />}
      </QueryView>
    </PageSection>
  );
}

function Content({
  dependencies: { requirements, plans, blockers, graph, independent, unknown },
}: {
  readonly dependencies: DependencyMap;
}): ReactElement {
  const isEmpty = requirements.length === 0 && plans.length === 0;
  return (
    <>
      {unknown.length > 0 && (
        <Alert component="h2" status="warning" title={t.unknown}>
          <ul>
            {unknown.map((text) => (
              <li key={text} className="olm-break" dir="auto">
                {text}
              </li>
            ))}
          </ul>
        </Alert>
      )}
      {isEmpty ? (
        <EmptyState headingLevel="h2" titleText={t.none}>
          <EmptyStateBody>{t.noneBody}</EmptyStateBody>
        </EmptyState>
      ) : (
        <>
          {plans.length > 0 && (
            <Section title={t.plans.title}>
              <Plans plans={plans} />
            </Section>
          )}
          <Section title={t.graph.title}>
            {graph ? <DependencyGraph graph={graph} /> : <p>{t.graph.undrawn}</p>}
            {independent > 0 && <p className="olm-subtle">{t.independent(independent)}</p>}
          </Section>
          <Section title={t.requirements.title}>
            <RequirementTable requirements={requirements} />
          </Section>
          {blockers.length > 0 && (
            <Section title={t.blockers.title}>
              <Blockers blockers={blockers} />
            </Section>
          )}
        </>
      )}
    </>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section className="olm-section" aria-label={title}>
      <Title headingLevel="h2">{title}</Title>
      {children}
    </section>
  );
}
