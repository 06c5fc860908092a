import type { ReactElement } from "react";
import type { ExtensionOverview } from "../../../../../pkg/consoleapi/overview.ts";
import { FactList } from "../../../components/FactList.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { overviewText } from "../../../text/overview.ts";

const t = overviewText.facts;

/** What is installed, from where, by whom, and under which policies. */
export function SummaryList({ summary }: Pick<ExtensionOverview, "summary">): ReactElement {
  const { updates, source, created } = summary;
  return (
    <FactList
      layout="columns"
      facts={[
        [t.package, summary.package],
        [t.installed, summary.installed],
        [t.support, summary.support && <StateLabel state={summary.support} isCompact />],
        [t.platform, summary.platform],
        [t.updates, updates.length > 0 && <Lines lines={updates} />],
        [t.source, <Lines key="source" lines={source.split("; ")} />],
        [t.namespace, summary.namespace],
        [t.installer, summary.installer],
        [t.approval, summary.approval],
        [t.pin, summary.pin],
        [t.drift, summary.drift],
        [t.crdPolicy, summary.crdPolicy],
        [t.created, created !== undefined && <RelativeTime time={created} />],
      ]}
    />
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }): ReactElement {
  return (
    <ul>
      {lines.map((line) => (
        <li key={line} dir="auto">
          {line}
        </li>
      ))}
    </ul>
  );
}
