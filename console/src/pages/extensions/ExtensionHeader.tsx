import { Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { ExtensionRow } from "../../../../pkg/consoleapi/live.ts";
import { CommandLine } from "../../components/CommandLine.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { extensionsText } from "../../text/extensions.ts";

const t = extensionsText.header;

/** Name, state, sentence and next step of an extension. */
export function ExtensionHeader({ row }: { readonly row: ExtensionRow }): ReactElement {
  const { name, state, attention } = row;
  const [next] = attention?.next ?? [];
  return (
    <header>
      <div className="olm-extension-title">
        <Title headingLevel="h1" className="olm-break">
          {name}
        </Title>
        <StateLabel state={state} />
      </div>
      {attention && attention.sentence !== "" && (
        <p className="olm-extension-sentence olm-break" dir="auto" title={attention.sentence}>
          {attention.sentence}
        </p>
      )}
      {next !== undefined && <CommandLine command={next} label={t.copyNext} />}
      <Facts row={row} />
    </header>
  );
}

function Facts({ row: { bundle, version, namespace, update, holds, package: packageName } }: { readonly row: ExtensionRow }): ReactElement {
  const facts = [
    { label: t.package, value: packageName },
    { label: t.bundle, value: bundle === undefined ? t.notInstalled : `${bundle} (${version ?? ""})` },
    { label: t.update, value: update.text },
    { label: t.namespace, value: namespace },
    { label: t.holds, value: holds.join(", ") },
  ];
  return (
    <dl className="olm-extension-facts">
      {facts.map(
        ({ label, value }) =>
          value !== "" && (
            <div key={label}>
              <dt>{label}</dt>
              <dd className="olm-break">
                <bdi>{value}</bdi>
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}
