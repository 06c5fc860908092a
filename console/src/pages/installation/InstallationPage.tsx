import { Button, ExpandableSection, Title } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import type { InstallationFinding, InstallationReport } from "../../../../pkg/consoleapi/installation.ts";
import { PageTitle } from "../../app/PageTitle.tsx";
import { Label } from "../../components/Label.tsx";
import { NextStep } from "../../components/NextStep.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { RelativeTime } from "../../components/RelativeTime.tsx";
import { installationText } from "../../text/installation.ts";
import { useInstallation } from "./installationQuery.ts";

const LABELS = { ok: "success", warning: "warning", problem: "danger", unknown: "info" } as const;

/** What `olmv1 doctor` prints: the checks of the installation, those that failed first. */
export default function InstallationPage(): ReactElement {
  const query = useInstallation();
  return (
    <PageSection className="olm-page">
      <PageTitle title={installationText.title} />
      <header className="olm-page-header">
        <Title headingLevel="h1">{installationText.title}</Title>
        <p className="olm-subtle">{installationText.intro}</p>
      </header>
      <QueryView query={query} lines={10}>
        {(installation) => <Findings installation={installation} isChecking={query.isFetching} onCheck={() => void query.refetch()} />}
      </QueryView>
    </PageSection>
  );
}

function Findings({
  installation: { findings, checked },
  isChecking,
  onCheck,
}: {
  readonly installation: InstallationReport;
  readonly isChecking: boolean;
  readonly onCheck: () => void;
}): ReactElement {
  const [isExpanded, setExpanded] = useState(false);
  const count = (status: InstallationFinding["status"]): number => findings.filter((one) => one.status === status).length;
  const failed = findings.filter(({ status }) => status !== "ok");
  const passed = findings.filter(({ status }) => status === "ok");
  return (
    <>
      <p className="olm-toolbar">
        <strong>{installationText.summary(count("problem"), count("warning"), count("unknown"))}</strong>
        <span className="olm-subtle">
          {installationText.checked} <RelativeTime time={checked} />
        </span>
        <Button variant="link" isInline isLoading={isChecking} isDisabled={isChecking} onClick={onCheck}>
          {installationText.again}
        </Button>
      </p>
      <FindingList findings={failed} />
      <ExpandableSection
        toggleText={installationText.passed(passed.length)}
        isExpanded={isExpanded || failed.length === 0}
        onToggle={(_event, is) => setExpanded(is)}
      >
        <FindingList findings={passed} />
      </ExpandableSection>
    </>
  );
}

function FindingList({ findings }: { readonly findings: readonly InstallationFinding[] }): ReactElement {
  return (
    <ul className="olm-list">
      {findings.map(({ check, status, message, next, expires }) => (
        <li key={`${check} ${message}`} className="olm-list-item">
          <Label isOutlined status={LABELS[status]}>
            {installationText.status[status]}
          </Label>
          <div className="olm-list-body">
            <strong className="olm-break">{check}</strong>
            <p className="olm-break">{message}</p>
            {expires !== undefined && status !== "ok" && <RelativeTime time={expires} />}
            {next !== undefined && <NextStep step={next} />}
          </div>
        </li>
      ))}
    </ul>
  );
}
