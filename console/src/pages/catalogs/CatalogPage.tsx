import "./catalogs.css";
import "../packages/packages.css";
import "../extensions/extensions.css";
import { Breadcrumb, BreadcrumbItem, Button, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useId } from "react";
import { Link, useParams } from "react-router";
import { CatalogContentOrigin, CatalogView } from "../../../../pkg/consoleapi/catalogs.ts";
import { getJson } from "../../api/request.ts";
import { PageTitle } from "../../app/PageTitle.tsx";
import { ActionButton } from "../../components/ActionButton.tsx";
import { EventList } from "../../components/EventList.tsx";
import { FactList } from "../../components/FactList.tsx";
import { NextSteps } from "../../components/NextStep.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { RelativeTime } from "../../components/RelativeTime.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { catalogsText as t } from "../../text/catalogs.ts";
import { ConditionList } from "../extensions/overview/ConditionList.tsx";
import { CatalogProblems } from "./CatalogProblems.tsx";
import { Difference } from "./Difference.tsx";
import { Findings } from "./Findings.tsx";

/** One catalog. */
export default function CatalogPage(): ReactElement {
  const { name = "" } = useParams();
  const query = useQuery({
    queryKey: ["catalog", name],
    queryFn: ({ signal }) => getJson(`/api/catalogs/${encodeURIComponent(name)}`, CatalogView, signal),
  });
  return (
    <PageSection hasBody={false} className="olm-package">
      <PageTitle title={name} />
      <Breadcrumb>
        <BreadcrumbItem
          render={({ className }) => (
            <Link to="/catalogs" className={className}>
              {t.title}
            </Link>
          )}
        />
        <BreadcrumbItem isActive>{name}</BreadcrumbItem>
      </Breadcrumb>
      <Title headingLevel="h1" className="olm-break">
        {name}
      </Title>
      <QueryView query={query} lines={10}>
        {(catalog) => <Catalog catalog={catalog} />}
      </QueryView>
    </PageSection>
  );
}

function Catalog({ catalog }: { readonly catalog: CatalogView }): ReactElement {
  const { row, problems, conditions, extensions, unreportedExtensions, events, served, isAvailable } = catalog;
  const others = row.attention ? problems.slice(1) : problems; // the header shows the first
  return (
    <>
      <Header catalog={catalog} />
      <div className="olm-columns">
        <div className="olm-main">
          {others.length > 0 && (
            <Section title={t.problems}>
              <CatalogProblems problems={others} />
            </Section>
          )}
          {isAvailable && (
            <Section title={t.findings}>
              <Findings name={row.name} />
            </Section>
          )}
          {served !== undefined && (
            <Section title={t.difference}>
              <Difference name={row.name} served={served} />
            </Section>
          )}
          <Section title={t.extensions}>
            <Extensions extensions={extensions} unreportedExtensions={unreportedExtensions} />
          </Section>
          <Section title={t.conditions}>
            <ConditionList conditions={conditions} />
          </Section>
          <Section title={t.events}>
            <EventList events={events} />
          </Section>
        </div>
        <aside className="olm-side" aria-label={t.facts}>
          <Facts catalog={catalog} />
        </aside>
      </div>
    </>
  );
}

function Header({ catalog: { row, isAvailable, toggle } }: { readonly catalog: CatalogView }): ReactElement {
  const { attention } = row;
  return (
    <div className="olm-catalog-header">
      <div className="olm-catalog-actions">
        <StateLabel state={row.state} />
        <Button variant="secondary" component={(props) => <Link {...props} to={`/packages?catalog=${row.name}`} />}>
          {t.packages}
        </Button>
        <ActionButton request={{ action: "apply", yaml: toggle }} isDanger={isAvailable}>
          {isAvailable ? t.disable : t.enable}
        </ActionButton>
      </div>
      {attention && (
        <>
          <p className="olm-break" dir="auto">
            {attention.sentence}
          </p>
          <NextSteps steps={attention.next} />
        </>
      )}
    </div>
  );
}

function Extensions({ extensions, unreportedExtensions }: Pick<CatalogView, "extensions" | "unreportedExtensions">): ReactElement {
  if (!extensions) return <p className="olm-subtle">{t.extensionsUnknown}</p>;
  if (extensions.length === 0 && unreportedExtensions > 0)
    return <p className="olm-subtle">{t.extensionsUnreported(unreportedExtensions)}</p>;
  if (extensions.length === 0) return <p className="olm-subtle">{t.noExtensions}</p>;
  return (
    <ul className="olm-rows">
      {extensions.map(({ name, package: packageName, version }) => (
        <li key={name} className="olm-break">
          <Link to={`/extensions/${encodeURIComponent(name)}`}>{name}</Link> <bdi className="olm-subtle">{`${packageName} ${version}`}</bdi>
        </li>
      ))}
    </ul>
  );
}

function Facts({ catalog: { row, served, packages, address, isAvailable } }: { readonly catalog: CatalogView }): ReactElement {
  const labels = Object.entries(row.labels).map(([key, value]) => `${key}=${value}`);
  return (
    <FactList
      facts={[
        [t.image, <code key="image">{row.image}</code>],
        [t.served, served && <code>{served}</code>],
        [t.packageCount, packages],
        [t.priority, t.priorityHint(row.priority)],
        [t.availability, isAvailable ? t.available : t.unavailable],
        [t.poll, row.pollMinutes === undefined ? t.pollNever : t.pollEvery(row.pollMinutes)],
        [t.unpacked, row.unpacked && <RelativeTime time={row.unpacked} />],
        [t.created, row.created && <RelativeTime time={row.created} />],
        [t.address, address],
        [t.readFrom, served && isAvailable && <Origin key="origin" name={row.name} />],
        [t.labels, labels.length === 0 ? undefined : <Lines lines={labels} />],
      ]}
    />
  );
}

/** From where the console reads the content. The first page that needs the content waits until it is read. */
function Origin({ name }: { readonly name: string }): ReactElement {
  const { data, isError } = useQuery({
    queryKey: ["catalog", name, "origin"],
    queryFn: ({ signal }) => getJson(`/api/catalogs/${encodeURIComponent(name)}/origin`, CatalogContentOrigin, signal),
  });
  if (!data) return <span className="olm-subtle">{isError ? t.origin.failed : t.origin.reading}</span>;
  return <>{data.from === "catalogd" ? t.origin.catalogd : t.origin[data.from](data.because)}</>;
}

function Lines({ lines }: { readonly lines: readonly string[] }): ReactElement {
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  const id = useId();
  return (
    <section className="olm-package-section" aria-labelledby={id}>
      <Title headingLevel="h2" size="lg" id={id}>
        {title}
      </Title>
      {children}
    </section>
  );
}
