import type { ReactElement, ReactNode } from "react";

/** Terms with their values, such as `Provider: Example`. Values that are undefined or empty are left out. */
export function FactList({ facts }: { readonly facts: readonly (readonly [term: string, value: ReactNode])[] }): ReactElement {
  return (
    <dl className="olm-facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0))
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd className="olm-break" dir="auto">
              {value}
            </dd>
          </div>
        ))}
    </dl>
  );
}
