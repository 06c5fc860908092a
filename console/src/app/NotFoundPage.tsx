import { EmptyState, EmptyStateBody } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import { ErrorState } from "../components/ErrorState.tsx";
import { PageSection } from "../components/PageSection.tsx";
import { text } from "../text/en.ts";
import { PageTitle } from "./PageTitle.tsx";

/** The page of an address without a page. */
export function NotFoundPage(): ReactElement {
  return (
    <PageSection>
      <PageTitle title={text.errors.notFound} />
      <EmptyState headingLevel="h1" titleText={text.errors.notFound}>
        <EmptyStateBody>
          <Link to="/">{text.errors.notFoundNext}</Link>
        </EmptyStateBody>
      </EmptyState>
    </PageSection>
  );
}

/** Shows the error of a page that failed; the navigation keeps working. */
export function PageError({ error }: { readonly error: Error }): ReactElement {
  return (
    <PageSection>
      <ErrorState error={error} onRetry={() => location.reload()} />
    </PageSection>
  );
}
