import "./catalogs.css";
import { EmptyState, EmptyStateBody, Title } from "@patternfly/react-core";
import { type ReactElement, useMemo } from "react";
import type { CatalogRow } from "../../../../pkg/consoleapi/live.ts";
import { isAwaited } from "../../api/liveStore.ts";
import { useLive } from "../../app/consoleState.tsx";
import { PageTitle } from "../../app/PageTitle.tsx";
import { CommandLine } from "../../components/CommandLine.tsx";
import { DataTable } from "../../components/DataTable.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { Placeholder } from "../../components/QueryView.tsx";
import { type TableSort, useTableState } from "../../components/tableState.ts";
import { catalogsText as t } from "../../text/catalogs.ts";
import { catalogColumns, STANDARD_COLUMNS } from "./catalogColumns.tsx";

const STANDARD: { readonly sort: TableSort; readonly columns: readonly string[] } = {
  sort: { column: "priority", isDescending: true },
  columns: STANDARD_COLUMNS,
};

/** All catalogs of the cluster. */
export default function CatalogsPage(): ReactElement {
  const { catalogs, watches } = useLive();
  const rows = useMemo(() => [...catalogs.values()].sort((one, other) => one.name.localeCompare(other.name)), [catalogs]);
  const { sort, setSort, visible } = useTableState(catalogColumns, STANDARD);
  const isLoading = rows.length === 0 && isAwaited(watches.catalogs);
  return (
    <PageSection className="olm-fill" hasBody={false}>
      <PageTitle title={t.title} />
      <div className="olm-table-title">
        <Title headingLevel="h1">{t.title}</Title>
        <span className="olm-subtle" role="status">
          {!isLoading && t.count(rows.length)}
        </span>
      </div>
      {isLoading ? (
        <Placeholder lines={8} />
      ) : (
        <DataTable
          label={t.table}
          columns={catalogColumns}
          visible={visible}
          rows={rows}
          getId={getName}
          getPath={getCatalogPath}
          sort={sort}
          onSort={setSort}
          empty={<None />}
        />
      )}
    </PageSection>
  );
}

function getName({ name }: CatalogRow): string {
  return name;
}

function getCatalogPath({ name }: CatalogRow): string {
  return `/catalogs/${name}`;
}

function None(): ReactElement {
  return (
    <EmptyState headingLevel="h2" titleText={t.empty} variant="sm">
      <EmptyStateBody>
        <p>{t.emptyNext}</p>
        <CommandLine command={t.emptyCommand} label={t.emptyNext} />
      </EmptyStateBody>
    </EmptyState>
  );
}
