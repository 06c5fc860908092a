import { EmptyState, EmptyStateBody } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { text } from "../text/en.ts";

/** Shows an error in place of the whole console. */
export function CrashedPage({ error }: { readonly error: Error }): ReactElement {
  return (
    <EmptyState headingLevel="h1" titleText={text.errors.crashed} status="danger">
      <EmptyStateBody>
        <p className="olm-break">{error.message}</p>
        <p>{text.errors.crashedNext}</p>
      </EmptyStateBody>
    </EmptyState>
  );
}
