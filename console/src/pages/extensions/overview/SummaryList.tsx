import { DescriptionList, DescriptionListDescription, DescriptionListGroup, DescriptionListTerm } from "@patternfly/react-core";
import type { ReactElement, ReactNode } from "react";
import { Link } from "react-router";
import type { ExtensionOverview } from "../../../../../pkg/consoleapi/overview.ts";
import { CommandLine } from "../../../components/CommandLine.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { overviewText as t } from "../../../text/overview.ts";

/** What is installed, from where, by whom, and under which policies. */
export function SummaryList({ name, summary }: Pick<ExtensionOverview, "name" | "summary">): ReactElement {
  const { updates, blocked } = summary;
  const facts: readonly { readonly label: string; readonly value: ReactNode }[] = [
    { label: t.facts.package, value: summary.package },
    { label: t.facts.installed, value: summary.installed },
    { label: t.facts.updates, value: updates.length > 0 && <Lines lines={updates} /> },
    { label: t.facts.blocked, value: blocked && <Blocked name={name} blocked={blocked} /> },
    { label: t.facts.deprecation, value: summary.deprecation },
    { label: t.facts.source, value: <Lines lines={summary.source.split("; ")} /> },
    { label: t.facts.namespace, value: summary.namespace },
    { label: t.facts.installer, value: summary.installer },
    { label: t.facts.approval, value: summary.approval },
    { label: t.facts.pin, value: summary.pin },
    { label: t.facts.drift, value: summary.drift },
    { label: t.facts.crdPolicy, value: summary.crdPolicy },
    { label: t.facts.created, value: summary.created !== undefined && <RelativeTime time={summary.created} /> },
  ];
  return (
    <DescriptionList isCompact isHorizontal horizontalTermWidthModifier={{ default: "9rem" }} className="olm-summary">
      {facts.map(
        ({ label, value }) =>
          value !== undefined &&
          value !== false &&
          value !== "" && (
            <DescriptionListGroup key={label}>
              <DescriptionListTerm>{label}</DescriptionListTerm>
              <DescriptionListDescription className="olm-break">
                {typeof value === "string" ? <bdi>{value}</bdi> : value}
              </DescriptionListDescription>
            </DescriptionListGroup>
          ),
      )}
    </DescriptionList>
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

function Blocked({
  name,
  blocked: { version, message, commands },
}: {
  readonly name: string;
  readonly blocked: NonNullable<ExtensionOverview["summary"]["blocked"]>;
}): ReactElement {
  return (
    <div className="olm-stack">
      <p dir="auto">
        <strong>{version}</strong>: <span>{message}</span>
      </p>
      {commands.map((command) => (
        <CommandLine key={command} command={command} label={t.command} />
      ))}
      <p>
        <Link to={`/extensions/${name}/why`}>{t.tabs.why}</Link>
      </p>
    </div>
  );
}
