import "../../../components/changes.css";
import { Alert, Label } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { ExtensionHistory } from "../../../../../pkg/consoleapi/history.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { CodeText } from "../../../components/CodeText.tsx";
import { historyText as t } from "../../../text/history.ts";

type Drift = Extract<ExtensionHistory["drift"], { objects: unknown }>;

/** The drifted objects with the old and new values of their fields, and how to correct or to keep the changes. */
export function DriftView({ drift: { policy, meaning, objects, unwatched, offers, ignore } }: { readonly drift: Drift }): ReactElement {
  return (
    <>
      <p className="olm-offer">
        <Label isCompact variant="outline">
          {t.policy(policy)}
        </Label>
        <span>{meaning}</span>
      </p>
      {unwatched !== undefined && (
        <Alert isInline variant="warning" component="h4" title={t.unwatched}>
          <p className="olm-break">{unwatched}</p>
        </Alert>
      )}
      {objects.length === 0 && <p>{t.noDrift}</p>}
      {objects.map((object) => (
        <DriftedObject key={`${object.kind} ${object.namespace} ${object.name}`} object={object} />
      ))}
      <div className="olm-stack">
        <h4>{t.otherPolicies}</h4>
        {offers.map(({ label, meaning: effect, request }) => (
          <div key={label} className="olm-offer">
            <ActionButton request={request} size="sm" variant={objects.length > 0 && label === offers[0]?.label ? "primary" : "secondary"}>
              {label}
            </ActionButton>
            <span className="olm-subtle">{effect}</span>
          </div>
        ))}
      </div>
      {ignore !== undefined && (
        <div className="olm-stack">
          <h4>{t.keep}</h4>
          <p className="olm-subtle olm-prose">{t.keepNote}</p>
          <CodeText code={ignore} label={t.keep} copyLabel={t.copyYaml} />
        </div>
      )}
    </>
  );
}

function DriftedObject({
  object: { kind, namespace, name, what, fields, hasLive, hasReleased },
}: {
  readonly object: Drift["objects"][number];
}): ReactElement {
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  return (
    <div className="olm-stack">
      <h4 className="olm-break">
        {kind} <bdi>{full}</bdi> <span className="olm-subtle">{what}</span>
      </h4>
      {fields.length > 0 && (
        <table className="olm-fields" aria-label={t.fields(full)}>
          <thead>
            <tr>
              <th scope="col">{t.field}</th>
              <th scope="col">{t.live}</th>
              <th scope="col">{t.released}</th>
              <th scope="col">{t.changedBy}</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ path, managers, live, released }) => (
              <tr key={path}>
                <th scope="row">
                  <code className="olm-break">{path}</code>
                </th>
                <td data-label={t.live}>
                  <Value value={live} isKnown={hasLive} />
                </td>
                <td data-label={t.released}>
                  <Value value={released} isKnown={hasReleased} />
                </td>
                <td data-label={t.changedBy} className="olm-break">
                  <bdi>{managers.length === 0 ? t.unknown : managers.join(", ")}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Value({ value, isKnown }: { readonly value: string | undefined; readonly isKnown: boolean }): ReactElement {
  if (value === undefined) return <span className="olm-subtle">{isKnown ? t.absent : t.unknown}</span>;
  return (
    <code className="olm-break" dir="auto">
      {value}
    </code>
  );
}
