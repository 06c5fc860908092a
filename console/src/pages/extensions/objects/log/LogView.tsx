import { type ReactElement, useState } from "react";
import { useSearchParams } from "react-router";
import type { ContainerRow, ShownObject } from "../../../../../../pkg/consoleapi/objects.ts";
import { ErrorState } from "../../../../components/ErrorState.tsx";
import { objectsText } from "../../../../text/objects.ts";
import { LogControls } from "./LogControls.tsx";
import { LogLineList } from "./LogLineList.tsx";
import { findMatches } from "./logBuffer.ts";
import { useLog } from "./useLog.ts";

const t = objectsText.logs;
const FIRST_TAIL = 1_000;

/** The log of a container: followed, searchable, limited in memory. */
export default function LogView({
  reference,
  containers,
}: {
  readonly reference: ShownObject;
  /** Those that do not work first. */
  readonly containers: readonly ContainerRow[];
}): ReactElement | undefined {
  const [params] = useSearchParams();
  const chosen = containers.find(({ name }) => name === params.get("container")) ?? containers[0];
  if (!chosen) return <p className="olm-subtle">{t.empty}</p>;
  return <ContainerLog key={chosen.name} reference={reference} containers={containers} container={chosen} />;
}

function ContainerLog({
  reference,
  containers,
  container,
}: {
  readonly reference: ShownObject;
  readonly containers: readonly ContainerRow[];
  readonly container: ContainerRow;
}): ReactElement {
  const [params, setParams] = useSearchParams();
  const isPrevious = params.get("previous") === "1";
  const [tail, setTail] = useState(FIRST_TAIL);
  const [isFollowing, setFollowing] = useState(true);
  const [isWrapped, setWrapped] = useState(true);
  const [text, setText] = useState("");
  const [match, setMatch] = useState(0);
  const [log, reload] = useLog({ pod: reference, container: container.name, isPrevious, tail, isFollowing });
  const matches = findMatches(log.lines, text);
  const at = matches.length === 0 ? 0 : Math.min(match, matches.length - 1);
  const setParam = (name: string, value: string | undefined): void =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        if (name === "container") next.delete("previous");
        if (value === undefined) next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return (
    <div className="olm-log">
      <LogControls
        fileName={`${reference.name}-${container.name}.log`}
        containers={containers}
        container={container}
        onContainer={(name) => setParam("container", name)}
        isPrevious={isPrevious}
        onPrevious={(is) => setParam("previous", is ? "1" : undefined)}
        tail={tail}
        onTail={setTail}
        isFollowing={isFollowing}
        onFollow={setFollowing}
        isWrapped={isWrapped}
        onWrap={setWrapped}
        search={{ text, at, count: matches.length }}
        onSearch={(next) => {
          setText(next);
          setMatch(0);
        }}
        onMatch={(step) => setMatch(matches.length === 0 ? 0 : (at + step + matches.length) % matches.length)}
        lines={log.lines}
      />
      {log.phase === "failed" ? (
        <ErrorState error={log.error} onRetry={reload} />
      ) : (
        <>
          {log.dropped > 0 && <p className="olm-subtle">{t.dropped(log.dropped)}</p>}
          <LogLineList
            label={t.label(reference.name, container.name)}
            lines={log.lines}
            isWrapped={isWrapped}
            isFollowing={isFollowing}
            search={text}
            target={matches[at]}
          />
          <LogStatus phase={log.phase} isEmpty={log.lines.length === 0} isFollowing={isFollowing && !isPrevious} onReload={reload} />
        </>
      )}
    </div>
  );
}

function LogStatus({
  phase,
  isEmpty,
  isFollowing,
  onReload,
}: {
  readonly phase: "loading" | "streaming" | "ended" | "broken";
  readonly isEmpty: boolean;
  readonly isFollowing: boolean;
  readonly onReload: () => void;
}): ReactElement {
  const words = {
    loading: t.loading,
    streaming: isFollowing ? t.following : t.loading,
    ended: isEmpty ? t.empty : isFollowing ? t.ended : "",
    broken: t.broken,
  };
  return (
    <output className="olm-log-status olm-subtle">
      {words[phase]}
      {(phase === "ended" || phase === "broken") && (
        <button type="button" className="pf-v6-c-button pf-m-link pf-m-inline" onClick={onReload}>
          {t.retry}
        </button>
      )}
    </output>
  );
}
