import "./packages.css";
import "../../components/dataTable.css";
import { ExpandableSection, Title } from "@patternfly/react-core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useState } from "react";
import { useParams, useSearchParams } from "react-router";
import type { PackageDetails } from "../../../../pkg/consoleapi/packages.ts";
import { PageTitle } from "../../app/PageTitle.tsx";
import { CommandLine } from "../../components/CommandLine.tsx";
import { CopyBlock } from "../../components/CopyBlock.tsx";
import { Markdown } from "../../components/Markdown.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { packagesText } from "../../text/packages.ts";
import { ApiList } from "./ApiList.tsx";
import { useCatalogData } from "./catalogData.tsx";
import { ImageList } from "./ImageList.tsx";
import { PackageFacts } from "./PackageFacts.tsx";
import { PackageHeader } from "./PackageHeader.tsx";
import { UpdateGraph } from "./UpdateGraph.tsx";
import { formatVersion, VersionLists } from "./VersionLists.tsx";

/** A package and one of its versions. */
export default function PackagePage(): ReactElement {
  const data = useCatalogData();
  const { package: name = "" } = useParams();
  const [params] = useSearchParams();
  const ref = { package: name, catalog: params.get("catalog") ?? undefined, version: params.get("version") ?? undefined };
  const query = useQuery({
    queryKey: ["catalogs", "package", ref],
    queryFn: ({ signal }) => data.describe(ref, signal),
    // Another version of the same package replaces the page when it is loaded, without a flash.
    placeholderData: (previous) => (previous?.package === name ? keepPreviousData(previous) : undefined),
  });
  return (
    <PageSection hasBody={false} className="olm-package">
      <PageTitle title={query.data?.displayName ?? name} />
      {query.data === undefined && query.isError && (
        <Title headingLevel="h1" className="olm-break" dir="auto">
          {name}
        </Title>
      )}
      <QueryView query={query} lines={14}>
        {(details) => <Package details={details} />}
      </QueryView>
    </PageSection>
  );
}

function Package({ details }: { readonly details: PackageDetails }): ReactElement {
  const { described, install, longDescription, description } = details;
  const version = formatVersion(described);
  return (
    <>
      <PackageHeader details={details} />
      <div className="olm-columns">
        <div className="olm-main">
          <Section title={packagesText.installIt}>
            {install.command !== undefined && <CommandLine command={install.command} label={packagesText.command} />}
            <Yaml
              intro={packagesText.yamlIntro(`${details.package} ${version}`)}
              yaml={install.yaml}
              isOpen={install.command === undefined}
            />
          </Section>
          <Section title={packagesText.description}>
            {longDescription !== undefined || description !== undefined ? (
              <Markdown text={longDescription ?? description ?? ""} />
            ) : (
              <p className="olm-subtle">{packagesText.noDescription}</p>
            )}
          </Section>
          {described.provided.length > 0 && (
            <Section title={packagesText.provided}>
              <ApiList apis={described.provided} />
            </Section>
          )}
          {described.required.length > 0 && (
            <Section title={packagesText.required}>
              <ApiList apis={described.required} />
            </Section>
          )}
          {described.dependencies.length > 0 && (
            <Section title={packagesText.dependencies}>
              <p className="olm-subtle">{packagesText.dependenciesIntro}</p>
              <ul className="olm-bullets">
                {described.dependencies.map((one) => (
                  <li key={one} className="olm-break" dir="auto">
                    {one}
                  </li>
                ))}
              </ul>
            </Section>
          )}
          <Section title={packagesText.versions}>
            <VersionLists key={`${details.catalog}/${details.package}`} details={details} />
          </Section>
          <Section title={packagesText.graph}>
            <UpdateGraph catalog={details.catalog} name={details.package} />
          </Section>
          {described.relatedImages.length > 0 && (
            <Section title={packagesText.images}>
              <ImageList images={described.relatedImages} />
            </Section>
          )}
        </div>
        <aside className="olm-side" aria-label={packagesText.facts.title}>
          <PackageFacts details={details} />
        </aside>
      </div>
    </>
  );
}

function Yaml({ intro, yaml, isOpen }: { readonly intro: string; readonly yaml: string; readonly isOpen: boolean }): ReactElement {
  const [isExpanded, setExpanded] = useState(isOpen);
  return (
    <ExpandableSection toggleText={packagesText.yaml} isExpanded={isExpanded} onToggle={(_event, is) => setExpanded(is)}>
      <p className="olm-subtle olm-break">{intro}</p>
      <CopyBlock content={yaml} label={packagesText.manifest} />
    </ExpandableSection>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section className="olm-package-section">
      <Title headingLevel="h2" size="lg">
        {title}
      </Title>
      {children}
    </section>
  );
}
