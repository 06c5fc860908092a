import "../../components/dataTable.css";
import "./packages.css";
import { EmptyState, EmptyStateBody, Title } from "@patternfly/react-core";
import { SearchIcon } from "@patternfly/react-icons";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { type ReactElement, useCallback } from "react";
import type { PackagePage } from "../../../../pkg/consoleapi/packages.ts";
import { PageTitle } from "../../app/PageTitle.tsx";
import { Alert } from "../../components/Alert.tsx";
import { ErrorState } from "../../components/ErrorState.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { Placeholder } from "../../components/QueryView.tsx";
import { packagesText } from "../../text/packages.ts";
import { useCatalogData } from "./catalogData.tsx";
import { FilterBar } from "./FilterBar.tsx";
import { PackageCards } from "./PackageCards.tsx";
import { usePackageFilters } from "./packageFilters.ts";

/** The packages of all catalogs, with search and filters. */
export default function PackagesPage(): ReactElement {
  const data = useCatalogData();
  const [filters, setFilters] = usePackageFilters();
  const query = useInfiniteQuery({
    queryKey: ["catalogs", "packages", filters],
    queryFn: ({ signal, pageParam }) => data.search(filters, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const first = query.data?.pages[0];
  return (
    <PageSection hasBody={false} className="olm-packages">
      <PageTitle title={packagesText.title} />
      <header className="olm-page-header">
        <div className="olm-table-title">
          <Title headingLevel="h1">{packagesText.title}</Title>
          <span className="olm-subtle" role="status">
            {first && packagesText.count(first.total)}
          </span>
        </div>
        <p className="olm-subtle">{data.hasCluster ? packagesText.intro : packagesText.introCatalog}</p>
      </header>
      <FilterBar filters={filters} setFilters={setFilters} catalogs={first?.catalogs ?? []} />
      {first && <LeftOut page={first} />}
      {query.data === undefined &&
        (query.isError ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : <Placeholder lines={10} />)}
      {query.data && query.data.pages[0]?.total === 0 && <NothingFound isFiltered={Object.keys(filters).length > 0} />}
      {query.data && (
        <div className={query.isPlaceholderData ? "olm-stale" : undefined}>
          <PackageCards cards={query.data.pages.flatMap(({ items }) => items)} onEnd={loadMore} />
        </div>
      )}
      {isFetchingNextPage && <Placeholder lines={2} />}
    </PageSection>
  );
}

function LeftOut({ page: { leftOut, signaturesUnknown } }: { readonly page: PackagePage }): ReactElement | null {
  const catalogs = leftOut.map(({ catalog, reason }) => packagesText.leftOut(catalog, reason));
  const notices = signaturesUnknown === undefined ? catalogs : [signaturesUnknown, ...catalogs];
  if (notices.length === 0) return null;
  return (
    <ul className="olm-notices">
      {notices.map((notice) => (
        <li key={notice}>
          <Alert isPlain status="warning" component="p" title={<span className="olm-break">{notice}</span>} />
        </li>
      ))}
    </ul>
  );
}

function NothingFound({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  return (
    <EmptyState headingLevel="h2" icon={SearchIcon} titleText={isFiltered ? packagesText.empty : packagesText.noCatalogs} variant="sm">
      {isFiltered && <EmptyStateBody>{packagesText.emptyNext}</EmptyStateBody>}
    </EmptyState>
  );
}
