import "./factList.css";
import type { ReactElement, ReactNode } from "react";

/** A term and its value. */
export type Fact = readonly [term: string, value: ReactNode];

/** Terms with their values, such as `Provider: Example`. Values that are undefined, false or empty are left out. */
export function FactList({
  facts,
  layout = "stack",
}: {
  readonly facts: readonly Fact[];
  /** `stack`: one below the other. `row`: side by side. `columns`: terms on the left, values on the right. */
  readonly layout?: "stack" | "row" | "columns";
}): ReactElement {
  return (
    <dl className={`olm-facts olm-facts-${layout}`}>
      {facts.map(
        ([term, value]) =>
          !isEmpty(value) && (
            <div key={term}>
              <dt>{term}</dt>
              {typeof value === "string" ? (
                <dd className="olm-break">
                  <bdi>{value}</bdi>
                </dd>
              ) : (
                <dd className="olm-break" dir="auto">
                  {value}
                </dd>
              )}
            </div>
          ),
      )}
    </dl>
  );
}

function isEmpty(value: ReactNode): boolean {
  return value === undefined || value === false || value === "" || (Array.isArray(value) && value.length === 0);
}
