import { Button, EmptyState, EmptyStateBody, Title } from "@patternfly/react-core";
import { CheckCircleIcon, ExclamationCircleIcon, ExclamationTriangleIcon, InfoCircleIcon } from "@patternfly/react-icons";
import { type ReactElement, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Link } from "react-router";
import { isAwaited } from "../../api/liveStore.ts";
import { useLive } from "../../app/consoleState.tsx";
import { PageTitle } from "../../app/PageTitle.tsx";
import { Label } from "../../components/Label.tsx";
import { NextStep } from "../../components/NextStep.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { Placeholder } from "../../components/QueryView.tsx";
import { RelativeTime } from "../../components/RelativeTime.tsx";
import { SeverityIcon } from "../../components/SeverityIcon.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { attentionText } from "../../text/attention.ts";
import { text } from "../../text/en.ts";
import { useInstallation } from "../installation/installationQuery.ts";
import {
  type AttentionCounts,
  type AttentionItem,
  countAttention,
  type DueChange,
  listAttention,
  listDueChanges,
} from "./attentionItems.ts";

const ICONS = { error: ExclamationCircleIcon, warning: ExclamationTriangleIcon, info: InfoCircleIcon, fine: CheckCircleIcon } as const;

/** Number of items that the page shows at once. */
const STEP = 50;

/** The start page: what does not work, what is at risk, what waits for the user, and what changes next. */
export default function AttentionPage(): ReactElement {
  const { extensions, catalogs, watches } = useLive();
  const items = useMemo(() => listAttention(extensions.values(), catalogs.values()), [extensions, catalogs]);
  const changes = useMemo(() => listDueChanges(extensions.values()), [extensions]);
  const unreported = useMemo(() => [...extensions.values()].filter(({ hasUpdate }) => hasUpdate === undefined).length, [extensions]);
  const isLoading = [watches.extensions, watches.catalogs].some(isAwaited);
  const isComplete = [watches.extensions, watches.catalogs].every(({ state }) => state === "current");
  return (
    <PageSection className="olm-page">
      <PageTitle title={text.navigation.attention} />
      <header className="olm-page-header">
        <Title headingLevel="h1">{text.navigation.attention}</Title>
        <p className="olm-subtle">{attentionText.intro}</p>
      </header>
      {isLoading ? (
        <Placeholder lines={8} />
      ) : (
        <>
          <Counts counts={countAttention(items, extensions.size + catalogs.size)} />
          {items.length > 0 && <Items items={items} />}
          {items.length === 0 && isComplete && <Quiet extensions={extensions.size} catalogs={catalogs.size} />}
          <Changes changes={changes} unreported={unreported} />
        </>
      )}
    </PageSection>
  );
}

function Counts({ counts }: { readonly counts: AttentionCounts }): ReactElement {
  return (
    <ul className="olm-counts">
      {(["error", "warning", "info", "fine"] as const).map((severity) => {
        const Icon = ICONS[severity];
        return (
          <li key={severity} className={`olm-count olm-count-${counts[severity] === 0 ? "none" : severity}`}>
            <Icon aria-hidden />
            <strong>{counts[severity]}</strong>
            <span>{attentionText.counts[severity]}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Items({ items }: { readonly items: readonly AttentionItem[] }): ReactElement {
  const [count, setCount] = useState(STEP);
  const list = useRef<HTMLUListElement>(null);
  const showMore = (): void => {
    flushSync(() => setCount(count + STEP));
    list.current?.children[count]?.querySelector("a")?.focus(); // the button may be gone
  };
  return (
    <>
      <ul className="olm-list" aria-label={attentionText.list} ref={list}>
        {items.slice(0, count).map((item) => (
          <Item key={`${item.kind} ${item.name}`} item={item} />
        ))}
      </ul>
      {items.length > count && (
        <Button variant="secondary" onClick={showMore}>
          {attentionText.more(Math.min(STEP, items.length - count), items.length)}
        </Button>
      )}
    </>
  );
}

function Item({ item: { kind, name, to, state, since, attention } }: { readonly item: AttentionItem }): ReactElement {
  const [next] = attention.next;
  return (
    <li className="olm-list-item">
      <SeverityIcon severity={attention.severity} label={attentionText.severity[attention.severity]} />
      <div className="olm-list-body">
        <p className="olm-list-title">
          <Link to={to}>{name}</Link>
          <StateLabel state={state} />
          {kind === "catalog" && <Label isOutlined>{attentionText.kinds.catalog}</Label>}
          {since !== undefined && (
            <span className="olm-subtle">
              <RelativeTime time={since} />
            </span>
          )}
        </p>
        <p className="olm-break" dir="auto">
          {attention.sentence}
        </p>
        {next !== undefined && <NextStep step={next} />}
      </div>
    </li>
  );
}

function Quiet({ extensions, catalogs }: { readonly extensions: number; readonly catalogs: number }): ReactElement {
  if (extensions === 0) {
    return (
      <EmptyState headingLevel="h2" titleText={attentionText.noneYet}>
        <EmptyStateBody>
          <p>{attentionText.noneYetBody}</p>
          <Link to="/packages">{attentionText.openPackages}</Link>
        </EmptyStateBody>
      </EmptyState>
    );
  }
  return (
    <EmptyState headingLevel="h2" titleText={attentionText.allFine} icon={CheckCircleIcon} status="success">
      <EmptyStateBody>{attentionText.allFineBody(extensions, catalogs)}</EmptyStateBody>
    </EmptyState>
  );
}

function Changes({
  changes,
  unreported,
}: {
  readonly changes: readonly DueChange[];
  /** Number of extensions whose updates the OLM of the cluster does not report. */
  readonly unreported: number;
}): ReactElement {
  const { data } = useInstallation();
  const expiring = (data?.findings ?? []).filter(({ expires, status }) => expires !== undefined && status !== "ok");
  return (
    <section className="olm-section" aria-labelledby="changes">
      <Title headingLevel="h2" id="changes">
        {attentionText.changes}
      </Title>
      {unreported > 0 && <p className="olm-subtle">{attentionText.unreported}</p>}
      {unreported === 0 && changes.length === 0 && expiring.length === 0 && <p className="olm-subtle">{attentionText.noChanges}</p>}
      <ul className="olm-rows">
        {changes.map(({ name, kind, version, to }) => (
          <li key={`${kind} ${name}`}>
            <Link to={to}>{name}</Link> <span dir="auto">{formatChange(kind, version)}</span>
          </li>
        ))}
        {expiring.map(({ check, message }) => (
          <li key={check}>
            <Link to="/installation">{check}</Link> <span>{message}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function formatChange(kind: DueChange["kind"], version: string): string {
  if (kind === "endOfSupport") return attentionText.endOfSupport;
  return kind === "approval" ? attentionText.approval(version) : attentionText.update(version);
}
