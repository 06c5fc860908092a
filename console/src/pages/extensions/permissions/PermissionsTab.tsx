import { ExpandableSection, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { ExtensionPermissionsView, type ManagedPermissionsView, type OwnPermissions } from "../../../../../pkg/consoleapi/permissions.ts";
import { getJson } from "../../../api/request.ts";
import { Alert } from "../../../components/Alert.tsx";
import { CommandLine } from "../../../components/CommandLine.tsx";
import { FactList } from "../../../components/FactList.tsx";
import { NextStep } from "../../../components/NextStep.tsx";
import { OfferedActionButton } from "../../../components/OfferedActionButton.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { RuleListView } from "../../../components/RuleListView.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { permissionsText as t } from "../../../text/permissions.ts";
import { planText } from "../../../text/plan.ts";
import { useExtensionName } from "../extensionName.ts";
import { Comparison } from "./Comparison.tsx";

/** The permissions of the extension: granted, missing, waiting and denied ones, and those that the next bundle needs. */
export default function PermissionsTab(): ReactElement {
  const name = useExtensionName();
  const query = useQuery({
    queryKey: ["extension", name, "permissions"],
    queryFn: ({ signal }) => getJson(`/api/extensions/${encodeURIComponent(name)}/permissions`, ExtensionPermissionsView, signal),
  });
  return (
    <div>
      <Title headingLevel="h2">{t.title}</Title>
      <QueryView query={query}>{(view) => <Permissions name={name} view={view} />}</QueryView>
    </div>
  );
}

function Permissions({
  name,
  view: { account, managed, own, note },
}: {
  readonly name: string;
  readonly view: ExtensionPermissionsView;
}): ReactElement {
  return (
    <>
      {managed && <p className="olm-subtle olm-prose">{t.introManaged}</p>}
      {own && <p className="olm-subtle olm-prose">{t.introOwn}</p>}
      {note !== undefined && <p>{note}</p>}
      {managed && <Managed account={account} managed={managed} />}
      {own && <Own account={account} own={own} />}
      <Comparison name={name} />
      {managed && managed.history.length > 0 && <History history={managed.history} />}
    </>
  );
}

function Managed({ account, managed }: { readonly account: string | undefined; readonly managed: ManagedPermissionsView }): ReactElement {
  const {
    state,
    message,
    access,
    policy,
    bundle,
    requested,
    approval,
    pending,
    denied,
    granted,
    risks,
    approve,
    approvalNote,
    revoke,
    command,
  } = managed;
  return (
    <>
      <p className="olm-permissions-state">
        <StateLabel state={state} />
        {message !== undefined && (
          <span className="olm-break" dir="auto">
            {message}
          </span>
        )}
      </p>
      <FactList
        layout="row"
        facts={[
          [t.account, account],
          [t.policy, policy],
          [t.bundle, bundle],
          [t.requested, requested],
          [t.approval, approval],
        ]}
      />
      {access !== undefined && <p className="olm-prose">{access}</p>}
      {pending.count > 0 && (
        <TabSection title={t.pending}>
          <RuleListView list={pending} />
          {approve && <OfferedActionButton offer={approve} variant="primary" />}
          {approvalNote !== undefined && (
            <p className="olm-prose olm-break" dir="auto">
              {approvalNote}
            </p>
          )}
        </TabSection>
      )}
      {denied.count > 0 && (
        <TabSection title={t.denied}>
          <RuleListView list={denied} />
        </TabSection>
      )}
      <TabSection title={t.grantedTitle}>
        {granted.count === 0 ? (
          <RuleListView list={granted} />
        ) : (
          <ExpandableSection toggleText={t.granted(granted.count)} isIndented>
            <RuleListView list={granted} />
            <p className="olm-subtle">{planText.manageNote}</p>
          </ExpandableSection>
        )}
        {risks.length > 0 && (
          <div className="olm-stack">
            <h4>{t.risks}</h4>
            <ul>
              {risks.map(({ name, level, meaning }) => (
                <li key={name} className="olm-break">
                  {planText.levels[level]}: {name}. {meaning}
                </li>
              ))}
            </ul>
          </div>
        )}
        {revoke && <OfferedActionButton offer={revoke} isDanger />}
        <CommandLine command={command} label={t.command} />
      </TabSection>
    </>
  );
}

function Own({
  account,
  own: { missing, grant, note },
}: {
  readonly account: string | undefined;
  readonly own: OwnPermissions;
}): ReactElement {
  return (
    <>
      <FactList layout="row" facts={[[t.account, account]]} />
      {missing ? (
        <Alert status="danger" component="h3" title={t.missing} className="olm-permissions-missing">
          <div className="olm-scopes">
            <p>{t.missingNote}</p>
            <RuleListView list={missing} />
            {grant !== undefined && <NextStep step={grant} label={t.grant} />}
          </div>
        </Alert>
      ) : (
        <p>{note ?? t.noneMissing}</p>
      )}
    </>
  );
}

function History({ history }: Pick<ManagedPermissionsView, "history">): ReactElement {
  return (
    <TabSection title={t.history}>
      <ul className="olm-list">
        {history.map(({ time, reason, bundle, added, removed }) => (
          <li key={`${time} ${reason}`} className="olm-permissions-change">
            <span className="olm-subtle">
              <RelativeTime time={time} />
            </span>
            <span>{isKnown(reason) ? t.changes[reason] : reason}</span>
            <span>{`+${added} −${removed}`}</span>
            {bundle !== undefined && <bdi className="olm-subtle olm-break">{bundle}</bdi>}
          </li>
        ))}
      </ul>
    </TabSection>
  );
}

function isKnown(reason: string): reason is keyof typeof t.changes {
  return Object.hasOwn(t.changes, reason);
}
