import type { ReactElement } from "react";
import type { DetailedApi } from "../../../../pkg/consoleapi/packages.ts";

/** Kinds with their descriptions. */
export function ApiList({ apis }: { readonly apis: readonly DetailedApi[] }): ReactElement {
  return (
    <ul className="olm-apis">
      {apis.map(({ group, version, kind, displayName, description }) => (
        <li key={`${group}/${version}/${kind}`}>
          <p className="olm-break">
            <strong>{kind}</strong> <span className="olm-subtle">{[group, version].filter(Boolean).join("/")}</span>
          </p>
          {(description ?? (displayName === kind ? undefined : displayName)) !== undefined && (
            <p className="olm-break" dir="auto">
              {description ?? displayName}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
