import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactElement, useEffect, useLayoutEffect, useRef } from "react";
import { splitMatches } from "./logBuffer.ts";

const LINE_PX = 20;
const OVERSCAN = 40;
/** Distance from the end, in pixels, at which the view still counts as at the end. */
const END_PX = 40;

/** The lines of a log; renders only the visible ones. Stays at the end while the log is followed, unless the user scrolled up. */
export function LogLineList({
  label,
  lines,
  isWrapped,
  isFollowing,
  search,
  target,
}: {
  readonly label: string;
  readonly lines: readonly string[];
  readonly isWrapped: boolean;
  readonly isFollowing: boolean;
  /** Text to mark. */
  readonly search: string;
  /** Index of the line to show; undefined if the search found nothing. */
  readonly target: number | undefined;
}): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: OVERSCAN,
  });
  const isSearching = target !== undefined;
  useLayoutEffect(() => {
    if (isFollowing && isAtEnd.current && !isSearching && lines.length > 0) virtualizer.scrollToIndex(lines.length - 1, { align: "end" });
  }, [lines, isFollowing, isSearching, virtualizer]);
  useEffect(() => {
    if (target !== undefined) virtualizer.scrollToIndex(target, { align: "center" });
  }, [target, virtualizer]);
  const items = virtualizer.getVirtualItems();
  return (
    <div
      className="olm-log-lines"
      ref={scroller}
      role="log"
      aria-label={label}
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < END_PX;
      }}
    >
      <div className={isWrapped ? "olm-log-space olm-log-wrapped" : "olm-log-space"} style={{ height: virtualizer.getTotalSize() }}>
        <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
          {items.map(({ index, key }) => (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              className={index === target ? "olm-log-line olm-log-target" : "olm-log-line"}
            >
              <Line line={lines[index] ?? ""} search={search} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function Line({ line, search }: { readonly line: string; readonly search: string }): ReactElement {
  if (line === "") return <br />;
  return <>{splitMatches(line, search).map((part, i) => (i % 2 === 1 ? <mark key={i}>{part}</mark> : part))}</>;
}
