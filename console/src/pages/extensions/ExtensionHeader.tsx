import { Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { ExtensionRow } from "../../../../pkg/consoleapi/live.ts";
import { FactList } from "../../components/FactList.tsx";
import { NextStep } from "../../components/NextStep.tsx";
import { SeverityIcon } from "../../components/SeverityIcon.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { extensionsText } from "../../text/extensions.ts";
import { overviewText } from "../../text/overview.ts";

const t = extensionsText.header;

/** Name, state and most important facts of an extension. */
export function ExtensionHeader({ row }: { readonly row: ExtensionRow }): ReactElement {
  const { name, state, bundle, version, namespace, update, holds } = row;
  return (
    <header>
      <div className="olm-extension-title">
        <Title headingLevel="h1" className="olm-break">
          {name}
        </Title>
        <StateLabel state={state} />
      </div>
      <FactList
        layout="row"
        facts={[
          [t.package, row.package],
          [t.bundle, bundle === undefined ? t.notInstalled : `${bundle} (${version ?? ""})`],
          [t.update, update.text],
          [t.namespace, namespace],
          [t.holds, holds.join(", ")],
        ]}
      />
    </header>
  );
}

/** Why an extension needs attention and the next step, for tabs that do not explain it. */
export function ExtensionAttention({ row: { name, attention } }: { readonly row: ExtensionRow }): ReactElement | undefined {
  if (!attention || attention.sentence === "") return undefined;
  const { severity, sentence, next, tab } = attention;
  const [first] = next;
  return (
    <section className="olm-list-item olm-extension-attention" aria-label={t.attention}>
      <SeverityIcon severity={severity} label={t.severity[severity]} />
      <div className="olm-list-body">
        <p className="olm-extension-sentence olm-break" dir="auto" title={sentence}>
          {sentence}
        </p>
        {first && <NextStep step={first} />}
        {tab !== undefined && <Link to={`/extensions/${name}/${tab}`}>{overviewText.tabs[tab]}</Link>}
      </div>
    </section>
  );
}
