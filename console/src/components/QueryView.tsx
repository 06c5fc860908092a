import { Skeleton } from "@patternfly/react-core";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useEffect, useState } from "react";
import { text } from "../text/en.ts";
import { ErrorState } from "./ErrorState.tsx";

/** Time before a placeholder appears, in milliseconds, so that fast responses cause no flash. */
const PLACEHOLDER_MS = 150;

/**
 * Shows the result of a query: placeholders while it loads, the error if it failed and there is no earlier result, else the result. An earlier result
 * stays visible while a new one loads.
 */
export function QueryView<T>({
  query,
  lines = 6,
  children,
}: {
  readonly query: UseQueryResult<T>;
  /** Number of placeholder lines. */
  readonly lines?: number;
  readonly children: (data: T) => ReactNode;
}): ReactElement {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return <Placeholder lines={lines} />;
}

/** Gray lines for content that loads. */
export function Placeholder({ lines }: { readonly lines: number }): ReactElement {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), PLACEHOLDER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="olm-placeholder" aria-busy="true" aria-live="polite" aria-label={text.common.loading}>
      {isVisible && Array.from({ length: lines }, (_, i) => <Skeleton key={i} width={`${90 - ((i * 17) % 50)}%`} />)}
    </div>
  );
}
