import { EmptyState, EmptyStateBody } from "@patternfly/react-core";
import { Component, type ReactNode } from "react";
import { text } from "../text/en.ts";

/** Shows the error of a page that failed, in place of the page. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | undefined }> {
  override state: { readonly error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <EmptyState headingLevel="h1" titleText={text.errors.crashed} status="danger">
        <EmptyStateBody>
          <p className="olm-break">{error.message}</p>
          <p>{text.errors.crashedNext}</p>
        </EmptyStateBody>
      </EmptyState>
    );
  }
}
