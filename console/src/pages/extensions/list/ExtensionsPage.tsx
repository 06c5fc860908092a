import "../extensions.css";
import { EmptyState, EmptyStateBody, Title } from "@patternfly/react-core";
import { type ReactElement, useDeferredValue, useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import type { ExtensionRow } from "../../../../../pkg/consoleapi/live.ts";
import { isAwaited } from "../../../api/liveStore.ts";
import { useLive } from "../../../app/consoleState.tsx";
import { PageTitle } from "../../../app/PageTitle.tsx";
import { DataTable } from "../../../components/DataTable.tsx";
import { PageSection } from "../../../components/PageSection.tsx";
import { Placeholder } from "../../../components/QueryView.tsx";
import { type TableSort, useTableState } from "../../../components/tableState.ts";
import { extensionListText as t } from "../../../text/extensionList.ts";
import { ExtensionToolbar } from "./ExtensionToolbar.tsx";
import { extensionColumns, STANDARD_COLUMNS } from "./extensionColumns.tsx";
import { type ExtensionFilters, filterExtensions, hasFilters, parseFilters, writeFilters } from "./extensionFilters.ts";

const STANDARD: { readonly sort: TableSort; readonly columns: readonly string[] } = {
  sort: { column: "name", isDescending: false },
  columns: STANDARD_COLUMNS,
};

/** All extensions of the cluster, with search and filters. */
export default function ExtensionsPage(): ReactElement {
  const { extensions, watches } = useLive();
  const rows = useMemo(() => [...extensions.values()].sort((one, other) => one.name.localeCompare(other.name)), [extensions]);
  const isLoading = rows.length === 0 && isAwaited(watches.extensions);
  return (
    <PageSection className="olm-fill" hasBody={false}>
      <PageTitle title={t.title} />
      {isLoading ? (
        <>
          <Title headingLevel="h1">{t.title}</Title>
          <Placeholder lines={10} />
        </>
      ) : (
        <ExtensionList rows={rows} isComplete={watches.extensions.state === "current"} />
      )}
    </PageSection>
  );
}

function ExtensionList({
  rows,
  isComplete,
}: {
  readonly rows: readonly ExtensionRow[];
  /** False if the user may not list extensions, or the cluster does not respond. */
  readonly isComplete: boolean;
}): ReactElement {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => parseFilters(params), [params]);
  const setFilters = (next: ExtensionFilters): void =>
    setParams(writeFilters(params, next), { replace: next.text !== filters.text || next.marks === filters.marks });
  const { sort, setSort, visible, setVisible } = useTableState(extensionColumns, STANDARD);
  const applied = useDeferredValue(filters);
  const shown = useMemo(() => filterExtensions(rows, applied), [rows, applied]);
  return (
    <>
      <div className="olm-table-title">
        <Title headingLevel="h1">{t.title}</Title>
        <output className="olm-subtle">{isComplete || rows.length > 0 ? t.count(shown.length, rows.length) : undefined}</output>
      </div>
      <ExtensionToolbar rows={rows} filters={filters} onChange={setFilters} visible={visible} onVisible={setVisible} />
      <DataTable
        label={t.table}
        columns={extensionColumns}
        visible={visible}
        rows={shown}
        getId={getName}
        getPath={getPath}
        sort={sort}
        onSort={setSort}
        empty={hasFilters(filters) ? <NoMatch /> : isComplete && <None />}
      />
    </>
  );
}

function getName({ name }: ExtensionRow): string {
  return name;
}

function getPath({ name }: ExtensionRow): string {
  return `/extensions/${name}`;
}

function NoMatch(): ReactElement {
  return <EmptyState headingLevel="h2" titleText={t.noMatch} variant="sm" />;
}

function None(): ReactElement {
  return (
    <EmptyState headingLevel="h2" titleText={t.none}>
      <EmptyStateBody>
        <p>{t.noneNext}</p>
        <p>
          <Link to="/packages">{t.openCatalog}</Link>
        </p>
      </EmptyStateBody>
    </EmptyState>
  );
}
