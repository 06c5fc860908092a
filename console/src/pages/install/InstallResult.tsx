import { ExpandableSection, Title } from "@patternfly/react-core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useNavigate } from "react-router";
import type { InstallDraft } from "../../../../pkg/consoleapi/install.ts";
import { ActionButton } from "../../components/ActionButton.tsx";
import { Alert } from "../../components/Alert.tsx";
import { CommandLine } from "../../components/CommandLine.tsx";
import { CopyBlock } from "../../components/CopyBlock.tsx";
import { ErrorState } from "../../components/ErrorState.tsx";
import { Placeholder } from "../../components/QueryView.tsx";
import { RuleListView } from "../../components/RuleListView.tsx";
import { installText as t } from "../../text/install.ts";

/** The manifest that the form results in, to copy or to apply. */
export function InstallResult({
  query,
  isStale,
  extension,
}: {
  readonly query: UseQueryResult<InstallDraft>;
  /** Whether the manifest is that of an earlier form, so that it cannot be applied. */
  readonly isStale: boolean;
  /** Name of the ClusterExtension. */
  readonly extension: string;
}): ReactElement {
  return (
    <>
      <Title headingLevel="h2" size="lg">
        {t.result}
      </Title>
      {query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : query.data === undefined ? (
        <Placeholder lines={8} />
      ) : (
        <Draft draft={query.data} extension={extension} isStale={isStale} />
      )}
    </>
  );
}

function Draft({
  draft,
  extension,
  isStale,
}: {
  readonly draft: InstallDraft;
  readonly extension: string;
  readonly isStale: boolean;
}): ReactElement {
  const navigate = useNavigate();
  const { bundle, explanation, yaml, command, isComplete, permissionSource, warnings, permissions, config } = draft;
  return (
    <>
      {bundle ? (
        <p className="olm-break" role="status">
          {isStale ? t.checking : t.selected(bundle.name, bundle.version, bundle.catalog)}
        </p>
      ) : (
        <Alert status="danger" component="p" title={t.noBundle}>
          <p className="olm-break" dir="auto">
            {explanation}
          </p>
        </Alert>
      )}
      {warnings.length > 0 && (
        <Alert status="warning" component="p" title={t.warnings}>
          <ul className="olm-rows">
            {warnings.map((warning) => (
              <li key={warning} className="olm-break" dir="auto">
                {warning}
              </li>
            ))}
          </ul>
        </Alert>
      )}
      <CopyBlock label={t.manifest} content={yaml} />
      <CommandLine command={command} label={t.command} />
      {config.yaml.trim() !== "" && <p className="olm-subtle">{t.commandNote}</p>}
      <div>
        <ActionButton
          request={{ action: "apply", yaml }}
          variant="primary"
          disabledReason={isStale ? t.checking : isComplete ? undefined : t.incomplete}
          onDone={() => void navigate(`/extensions/${encodeURIComponent(extension)}`)}
        >
          {t.apply}
        </ActionButton>
      </div>
      <p className="olm-subtle">{t.sources[permissionSource]}</p>
      {permissions && (
        <ExpandableSection toggleText={t.permissions(permissions.needed.count + permissions.given.count)}>
          <div className="olm-package-section">
            <p className="olm-break">{t.permissionsIntro(permissions.account)}</p>
            <RuleListView list={permissions.needed} />
            <p>{t.given}</p>
            <RuleListView list={permissions.given} />
          </div>
        </ExpandableSection>
      )}
    </>
  );
}
