import "../packages/packages.css";
import "./install.css";
import { Breadcrumb, BreadcrumbItem, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useMemo, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import type { InstallForm } from "../../../../pkg/consoleapi/install.ts";
import type { ExtensionRow } from "../../../../pkg/consoleapi/live.ts";
import type { PackageDetails } from "../../../../pkg/consoleapi/packages.ts";
import { useLive } from "../../app/consoleState.tsx";
import { PageTitle } from "../../app/PageTitle.tsx";
import { Alert } from "../../components/Alert.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { installText as t } from "../../text/install.ts";
import { packagesText } from "../../text/packages.ts";
import { getPackagePath, useCatalogData } from "../packages/catalogData.tsx";
import { ConfigEditor } from "./ConfigEditor.tsx";
import { InstallFields } from "./InstallFields.tsx";
import { InstallPlan } from "./InstallPlan.tsx";
import { InstallResult } from "./InstallResult.tsx";
import { useInstallDraft } from "./installDraft.ts";

/** Installs a package: choices and configuration on one side, the manifest that they result in on the other. */
export default function InstallPage(): ReactElement {
  const data = useCatalogData();
  const { package: name = "" } = useParams();
  const [params] = useSearchParams();
  const ref = { package: name, catalog: params.get("catalog") ?? undefined, version: params.get("version") ?? undefined };
  const query = useQuery({
    queryKey: ["catalogs", "package", ref],
    queryFn: ({ signal }) => data.describe(ref, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const title = t.title(query.data?.displayName ?? name);
  return (
    <PageSection hasBody={false} className="olm-package">
      <PageTitle title={title} />
      <Breadcrumb>
        <BreadcrumbItem
          render={({ className }) => (
            <Link to="/packages" className={className}>
              {packagesText.title}
            </Link>
          )}
        />
        <BreadcrumbItem
          render={({ className }) => (
            <Link to={getPackagePath(ref)} className={className}>
              <bdi>{query.data?.displayName ?? name}</bdi>
            </Link>
          )}
        />
        <BreadcrumbItem isActive>{packagesText.install}</BreadcrumbItem>
      </Breadcrumb>
      <div>
        <Title headingLevel="h1" className="olm-break" dir="auto">
          {title}
        </Title>
        <p className="olm-subtle">{t.intro}</p>
      </div>
      <QueryView query={query} lines={12}>
        {(details) => <Install details={details} isChosen={ref.version !== undefined} />}
      </QueryView>
    </PageSection>
  );
}

/** Returns the extensions that install a package. */
function useInstallations(packageName: string): ExtensionRow[] {
  const { extensions } = useLive();
  return useMemo(() => [...extensions.values()].filter((row) => row.package === packageName), [extensions, packageName]);
}

/** Links to the extensions that install the package already: a package can be installed once. */
function Installed({ installed }: { readonly installed: readonly ExtensionRow[] }): ReactElement {
  return (
    <Alert status="info" component="h2" title={t.installedTitle}>
      <p>{t.installedNote}</p>
      <ul className="olm-rows">
        {installed.map(({ name, version, state }) => (
          <li key={name} className="olm-list-title">
            <Link to={`/extensions/${name}`} className="olm-break">
              {name}
            </Link>
            <bdi>{version ?? t.noVersion}</bdi>
            <StateLabel state={state} isCompact />
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function Install({ details, isChosen }: { readonly details: PackageDetails; readonly isChosen: boolean }): ReactElement {
  const { package: name, catalog, described, install } = details;
  const [form, setForm] = useState<InstallForm>({
    catalog,
    range: (isChosen ? described.version : install.range) ?? "",
    approval: "Automatic",
  });
  const { query, isStale, schema } = useInstallDraft(name, form);
  const change = (fields: Partial<InstallForm>): void => setForm((old) => ({ ...old, ...fields }));
  const installed = useInstallations(name);
  return (
    <div className="olm-install">
      <div className="olm-main">
        {installed.length > 0 && <Installed installed={installed} />}
        <InstallFields details={details} form={form} onChange={change} draft={query.data} />
        {query.data?.isConfigurable !== false && (
          <ConfigEditor schema={schema} draft={query.data} onChange={(config) => change({ config })} />
        )}
        <InstallPlan name={name} form={form} isReady={query.data?.isComplete === true && !isStale} />
      </div>
      <div className="olm-install-result">
        <InstallResult query={query} isStale={isStale} extension={form.name?.trim() || name} />
      </div>
    </div>
  );
}
