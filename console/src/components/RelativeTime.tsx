import { type ReactElement, useSyncExternalStore } from "react";
import { text } from "../text/en.ts";

const TICK_MS = 10_000;
const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

const wholeTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times on a page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** A time as an age, such as `5m ago`; the tooltip has the whole time. */
export function RelativeTime({ time }: { readonly time: string | undefined }): ReactElement {
  const current = useSyncExternalStore(subscribe, () => now);
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  if (Number.isNaN(ms)) return <span>{text.common.unknown}</span>;
  return (
    <time dateTime={time} title={wholeTime.format(ms)}>
      {text.common.ago(formatAge(Math.max(0, current - ms)))}
    </time>
  );
}

/** Formats a duration with its largest unit, such as `5m`. */
export function formatAge(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const [unit, size] = UNITS.find(([, of]) => seconds >= of) ?? ["s", 1];
  return `${Math.floor(seconds / size)}${unit}`;
}
