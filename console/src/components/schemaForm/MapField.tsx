import { Button, TextInput } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import { schemaFormText as t } from "../../text/schemaForm.ts";
import { isRecord } from "./schema.ts";

/** Edits texts by key, such as labels. Rows keep their order while the user types a key. */
export function MapField({
  label,
  description,
  value,
  onChange,
}: {
  readonly label: string;
  readonly description: string | undefined;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}): ReactElement {
  const [rows, setRows] = useState<readonly (readonly [key: string, text: string])[]>(() =>
    isRecord(value) ? Object.entries(value).map(([key, text]) => [key, String(text)]) : [],
  );
  const change = (next: typeof rows): void => {
    setRows(next);
    const entries = next.filter(([key]) => key !== "");
    onChange(entries.length === 0 ? undefined : Object.fromEntries(entries));
  };
  return (
    <fieldset className="olm-schema-list">
      <legend>{label}</legend>
      {description !== undefined && <p className="olm-subtle olm-break">{description}</p>}
      {rows.map(([key, text], i) => (
        <div key={i} className="olm-schema-pair">
          <TextInput
            aria-label={t.key(label, i + 1)}
            placeholder={t.keyHint}
            value={key}
            onChange={(_event, next) => change(rows.map((row, at) => (at === i ? [next, row[1]] : row)))}
          />
          <TextInput
            aria-label={t.value(label, i + 1)}
            placeholder={t.valueHint}
            value={text}
            onChange={(_event, next) => change(rows.map((row, at) => (at === i ? [row[0], next] : row)))}
          />
          <Button variant="link" isInline onClick={() => change(rows.filter((_, at) => at !== i))}>
            {t.remove(t.entry(label, i + 1))}
          </Button>
        </div>
      ))}
      <Button variant="link" isInline onClick={() => setRows([...rows, ["", ""]])}>
        {t.add(label)}
      </Button>
    </fieldset>
  );
}
