import { Alert, Button, Label } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { Link, useSearchParams } from "react-router";
import { type ExtensionHistory, type Revision, RevisionComparison } from "../../../../../pkg/consoleapi/history.ts";
import { getJson } from "../../../api/request.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { CommandLine } from "../../../components/CommandLine.tsx";
import { ObjectChanges } from "../../../components/ObjectChanges.tsx";
import { OfferedActionButton } from "../../../components/OfferedActionButton.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { historyText as t } from "../../../text/history.ts";

type Releases = Exclude<ExtensionHistory["releases"], { error: string }>;

/** The revisions on a time line, newest first; two of them can be compared. */
export function ReleaseList({ name, releases }: { readonly name: string; readonly releases: Releases }): ReactElement {
  const { revisions, note, unreadable, pin, removePin, command } = releases;
  const current = revisions.find(({ isCurrent }) => isCurrent);
  return (
    <>
      {pin !== undefined && (
        <Alert isInline variant="info" component="h4" title={t.pinnedTo(pin)}>
          {removePin && <OfferedActionButton offer={removePin} size="sm" />}
        </Alert>
      )}
      {unreadable.length > 0 && (
        <Alert isInline variant="warning" component="h4" title={t.unreadable}>
          {unreadable.map((text) => (
            <p key={text} className="olm-break">
              {text}
            </p>
          ))}
        </Alert>
      )}
      <Comparison name={name} />
      {revisions.length === 0 && <p className="olm-break">{note ?? t.none}</p>}
      <ol className="olm-timeline">
        {revisions.map((revision, i) => (
          <RevisionItem key={revision.revision} revision={revision} before={revisions[i + 1]} current={current} />
        ))}
      </ol>
      <CommandLine command={command} label={t.command} />
    </>
  );
}

function RevisionItem({
  revision: { revision, state, version, bundle, deployed, cause, description, isCurrent, isPinned, rollBack },
  before,
  current,
}: {
  readonly revision: Revision;
  readonly before: Revision | undefined;
  readonly current: Revision | undefined;
}): ReactElement {
  return (
    <li className="olm-timeline-item" data-current={isCurrent}>
      <div className="olm-list-title">
        <span>{t.revision(revision)}</span>
        <bdi className="olm-break">{version}</bdi>
        <StateLabel state={state} />
        {isCurrent && <Label isCompact>{t.current}</Label>}
        {isPinned && <Label isCompact>{t.pinned}</Label>}
        <span className="olm-subtle">{deployed === undefined ? t.unknownTime : <RelativeTime time={deployed} />}</span>
      </div>
      {cause !== undefined && <p className="olm-break">{cause}</p>}
      <p className="olm-subtle olm-break">
        <bdi>{bundle}</bdi>: <bdi>{description}</bdi>
      </p>
      <div className="olm-timeline-actions">
        {before && <Link to={`?from=${before.revision}&to=${revision}`}>{t.compareTo(before.revision)}</Link>}
        {rollBack && current && <Link to={`?from=${current.revision}&to=${revision}`}>{t.preview}</Link>}
        {rollBack && (
          <ActionButton request={rollBack.request} size="sm">
            {rollBack.label}
          </ActionButton>
        )}
      </div>
    </li>
  );
}

/** The difference between the two revisions in the address. */
function Comparison({ name }: { readonly name: string }): ReactElement | null {
  const [params, setParams] = useSearchParams();
  const [from, to] = [Number(params.get("from")), Number(params.get("to"))];
  const isChosen = Number.isInteger(from) && Number.isInteger(to) && from > 0 && to > 0;
  const query = useQuery({
    queryKey: ["revisions", name, from, to],
    queryFn: ({ signal }) =>
      getJson(`/api/extensions/${encodeURIComponent(name)}/history/comparison?from=${from}&to=${to}`, RevisionComparison, signal),
    enabled: isChosen,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!isChosen) return null;
  return (
    <div className="olm-comparison">
      <TabSection
        title={t.comparison(from, to)}
        extra={
          <Button variant="link" onClick={() => setParams({})}>
            {t.closeComparison}
          </Button>
        }
      >
        <p className="olm-subtle olm-prose">{t.comparisonNote}</p>
        <QueryView query={query}>{({ objects, omittedObjects }) => <ObjectChanges objects={objects} omitted={omittedObjects} />}</QueryView>
      </TabSection>
    </div>
  );
}
