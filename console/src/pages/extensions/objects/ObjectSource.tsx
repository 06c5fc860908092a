import { ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import type { ObjectView } from "../../../../../pkg/consoleapi/objects.ts";
import { CopyButton } from "../../../components/CommandLine.tsx";
import { objectsText as t } from "../../../text/objects.ts";

const FORMATS = ["yaml", "json"] as const;

/** An object as YAML or JSON; its managed fields are folded. */
export function ObjectSource({ object: { yaml, json, managedFields, notes } }: { readonly object: ObjectView }): ReactElement {
  const [format, setFormat] = useState<(typeof FORMATS)[number]>("yaml");
  const text = format === "yaml" ? yaml : json;
  return (
    <div className="olm-panel-sections">
      <div className="olm-source-head">
        <ToggleGroup isCompact aria-label={t.format}>
          {FORMATS.map((one) => (
            <ToggleGroupItem
              key={one}
              buttonId={`format-${one}`}
              text={one.toUpperCase()}
              isSelected={one === format}
              onChange={() => setFormat(one)}
            />
          ))}
        </ToggleGroup>
        <CopyButton value={text} label={t.copyText} />
      </div>
      {notes.map((note) => (
        <p key={note} className="olm-subtle">
          {note}
        </p>
      ))}
      <pre className="olm-source" tabIndex={0} aria-label={format.toUpperCase()}>
        {text}
      </pre>
      {managedFields !== undefined && (
        <details>
          <summary>{t.managedFields}</summary>
          <pre className="olm-source" tabIndex={0} aria-label={t.managedFields}>
            {managedFields}
          </pre>
        </details>
      )}
    </div>
  );
}
