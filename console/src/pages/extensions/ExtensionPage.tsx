import "./extensions.css";
import { Breadcrumb, BreadcrumbItem, EmptyState, EmptyStateBody, Title } from "@patternfly/react-core";
import { type ReactElement, Suspense } from "react";
import { Link, Outlet, useLocation } from "react-router";
import type { ExtensionRow } from "../../../../pkg/consoleapi/live.ts";
import { isAwaited } from "../../api/liveStore.ts";
import { useLive } from "../../app/consoleState.tsx";
import { PageTitle } from "../../app/PageTitle.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { Placeholder } from "../../components/QueryView.tsx";
import { TabLinks } from "../../components/TabLinks.tsx";
import { extensionsText } from "../../text/extensions.ts";
import { ExtensionAttention, ExtensionHeader } from "./ExtensionHeader.tsx";
import { useExtensionName } from "./extensionName.ts";
import { extensionTabs } from "./tabs.ts";
import { Leftovers } from "./uninstall/Leftovers.tsx";

/** The page of one extension: its state and next step, and the tabs. */
export default function ExtensionPage(): ReactElement {
  const name = useExtensionName();
  const { extensions, watches } = useLive();
  const row = extensions.get(name);
  const { pathname } = useLocation();
  const isExplained = ["", row?.attention?.tab].some((tab) => tab !== undefined && pathname === getTabPath(name, tab));
  if (!row && watches.extensions.state === "current") return <Missing name={name} />;
  return (
    <>
      <PageTitle title={name} />
      <PageSection className="olm-extension-head" hasBody={false}>
        <Trail name={name} />
        <Head name={name} row={row} isLoading={isAwaited(watches.extensions)} />
      </PageSection>
      <TabList name={name} />
      <PageSection className="olm-extension-body" hasBody={false}>
        {row && !isExplained && <ExtensionAttention row={row} />}
        <Suspense fallback={<Placeholder lines={8} />}>
          <Outlet key={name} />
        </Suspense>
      </PageSection>
    </>
  );
}

/** The header; only the name if the user may not list extensions. */
function Head({
  name,
  row,
  isLoading,
}: {
  readonly name: string;
  readonly row: ExtensionRow | undefined;
  readonly isLoading: boolean;
}): ReactElement {
  if (row) return <ExtensionHeader row={row} />;
  return (
    <>
      <Title headingLevel="h1" className="olm-break">
        {name}
      </Title>
      {isLoading && <Placeholder lines={2} />}
    </>
  );
}

function Trail({ name }: { readonly name: string }): ReactElement {
  return (
    <Breadcrumb>
      <BreadcrumbItem
        render={({ className, ariaCurrent }) => (
          <Link to="/extensions" className={className} aria-current={ariaCurrent}>
            {extensionsText.header.all}
          </Link>
        )}
      />
      <BreadcrumbItem isActive className="olm-break">
        {name}
      </BreadcrumbItem>
    </Breadcrumb>
  );
}

function TabList({ name }: { readonly name: string }): ReactElement {
  const { pathname } = useLocation();
  const tabs = extensionTabs.map(({ path, label }) => {
    const to = getTabPath(name, path);
    return { to, label, isCurrent: pathname === to };
  });
  return <TabLinks label={extensionsText.tabs.label(name)} tabs={tabs} isInset />;
}

/** Returns the address of a tab. @param tab last part of the address; empty for the overview */
function getTabPath(name: string, tab: string): string {
  return tab === "" ? `/extensions/${name}` : `/extensions/${name}/${tab}`;
}

function Missing({ name }: { readonly name: string }): ReactElement {
  const { notFound, notFoundNext, showAll } = extensionsText.header;
  return (
    <PageSection>
      <PageTitle title={name} />
      <EmptyState headingLevel="h1" titleText={<span className="olm-break">{notFound(name)}</span>} variant="lg">
        <EmptyStateBody>
          <p>{notFoundNext}</p>
          <p>
            <Link to="/extensions">{showAll}</Link>
          </p>
        </EmptyStateBody>
      </EmptyState>
      <Leftovers name={name} />
    </PageSection>
  );
}
