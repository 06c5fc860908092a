import "./changes.css";
import { Button, Switch } from "@patternfly/react-core";
import { AngleDownIcon, AngleRightIcon } from "@patternfly/react-icons";
import { type ReactElement, useId, useState } from "react";
import type { FieldRow, ObjectChangeRow } from "../../../pkg/consoleapi/plan.ts";
import { planText as t } from "../text/plan.ts";
import { Label } from "./Label.tsx";

const MARKS = { Create: "+", Update: "~", Delete: "−", Unchanged: "=" } as const;
/** Objects with at most this number of changed fields are open at first. */
const OPEN_FIELDS = 12;
const OPEN_OBJECTS = 20;

/** Changed objects with their changed fields. */
export function ObjectChanges({
  objects,
  omitted,
}: {
  readonly objects: readonly ObjectChangeRow[];
  readonly omitted: number;
}): ReactElement {
  const [withUnchanged, setUnchanged] = useState(false);
  const [withMinor, setMinor] = useState(false);
  const changed = objects.filter(({ action }) => action !== "Unchanged");
  const shown = withUnchanged ? objects : changed;
  const hasMinor = objects.some(({ fields }) => fields.some(({ isMinor }) => isMinor));
  return (
    <>
      <div className="olm-change-switches">
        {changed.length < objects.length && (
          <Switch id="olm-with-unchanged" label={t.showUnchanged} isChecked={withUnchanged} onChange={(_event, is) => setUnchanged(is)} />
        )}
        {hasMinor && <Switch id="olm-with-minor" label={t.showMinor} isChecked={withMinor} onChange={(_event, is) => setMinor(is)} />}
      </div>
      {shown.length === 0 && <p>{t.noChanges}</p>}
      <ul className="olm-changes">
        {shown.map((object, i) => (
          <li key={`${object.apiVersion} ${object.kind} ${object.namespace} ${object.name}`}>
            <ChangedObject object={object} withMinor={withMinor} isOpenAtFirst={i < OPEN_OBJECTS && object.fields.length <= OPEN_FIELDS} />
          </li>
        ))}
      </ul>
      {omitted > 0 && <p className="olm-subtle">{t.omitted(omitted)}</p>}
    </>
  );
}

function ChangedObject({
  object,
  withMinor,
  isOpenAtFirst,
}: {
  readonly object: ObjectChangeRow;
  readonly withMinor: boolean;
  readonly isOpenAtFirst: boolean;
}): ReactElement {
  const { action, kind, namespace, name, widens, refused, fields, more, hasUnknownValues = false } = object;
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const id = useId();
  const shown = withMinor ? fields : fields.filter(({ isMinor }) => !isMinor);
  const hidden = fields.length - shown.length;
  const what = (
    <>
      <span className="olm-change-mark" data-action={action} aria-hidden="true">
        {MARKS[action]}
      </span>
      <span className="pf-v6-screen-reader">{t.actions[action]}</span>
      <span className="olm-subtle">{kind}</span>
      <bdi className="olm-break">{namespace === undefined ? name : `${namespace}/${name}`}</bdi>
    </>
  );
  return (
    <>
      <div className="olm-change-head">
        {fields.length > 0 ? (
          <Button
            variant="plain"
            hasNoPadding
            className="olm-change-toggle"
            aria-expanded={isOpen}
            aria-controls={id}
            icon={isOpen ? <AngleDownIcon /> : <AngleRightIcon />}
            onClick={() => setOpen(!isOpen)}
          >
            {what}
          </Button>
        ) : (
          <span className="olm-change-toggle">{what}</span>
        )}
        {widens && (
          <Label isCompact status="warning">
            {t.morePermissions}
          </Label>
        )}
        {refused && (
          <Label isCompact status="danger">
            {t.rejected}
          </Label>
        )}
        {fields.length > 0 && <span className="olm-subtle olm-change-count">{t.fieldCount(fields.length + more)}</span>}
      </div>
      {fields.length > 0 && isOpen && (
        <div id={id} className="olm-change-fields">
          {shown.length > 0 && hasUnknownValues && <FieldNames fields={shown} />}
          {shown.length > 0 && !hasUnknownValues && <FieldTable fields={shown} label={`${t.fields}: ${kind} ${name}`} />}
          {hidden > 0 && <p className="olm-subtle">{t.minorFields(hidden)}</p>}
          {more > 0 && <p className="olm-subtle">{t.moreFields(more)}</p>}
        </div>
      )}
    </>
  );
}

function FieldNames({ fields }: { readonly fields: readonly FieldRow[] }): ReactElement {
  return (
    <ul className="olm-fields">
      {fields.map(({ path }) => (
        <li key={path}>
          <code className="olm-break">{path}</code>
        </li>
      ))}
    </ul>
  );
}

/** Old and new values of fields. */
function FieldTable({ fields, label }: { readonly fields: readonly FieldRow[]; readonly label: string }): ReactElement {
  return (
    <table className="olm-fields" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{t.field}</th>
          <th scope="col">{t.before}</th>
          <th scope="col">{t.after}</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ path, before, after }) => (
          <tr key={path}>
            <th scope="row">
              <code className="olm-break">{path}</code>
            </th>
            <td data-label={t.before}>
              <Value value={before} side="before" />
            </td>
            <td data-label={t.after}>
              <Value value={after} side="after" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ value, side }: { readonly value: string | undefined; readonly side: "before" | "after" }): ReactElement {
  if (value === undefined) return <span className="olm-subtle">{t.absent}</span>;
  return (
    <code className="olm-value olm-break" data-side={side} dir="auto">
      {value}
    </code>
  );
}
