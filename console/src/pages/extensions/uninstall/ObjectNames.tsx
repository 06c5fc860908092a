import "./uninstall.css";
import type { ReactElement } from "react";
import type { UninstallView } from "../../../../../pkg/consoleapi/uninstall.ts";

/** Kinds and names of objects. */
export function ObjectNames({ objects }: { readonly objects: UninstallView["objects"] }): ReactElement {
  return (
    <ul className="olm-object-names">
      {objects.map(({ kind, namespace, name }) => (
        <li key={`${kind} ${namespace} ${name}`} className="olm-break">
          <span className="olm-subtle">{kind}</span> <bdi>{namespace === undefined ? name : `${namespace}/${name}`}</bdi>
        </li>
      ))}
    </ul>
  );
}
