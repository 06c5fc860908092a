import { useCallback, useEffect, useState } from "react";
import { LOG_LIMITS, type ShownObject } from "../../../../../../pkg/consoleapi/objects.ts";
import { buildHeaders, send } from "../../../../api/request.ts";
import { LogBuffer, type LogLines, MAX_LINES } from "./logBuffer.ts";

/** Interval of updates of the page, in milliseconds. */
const UPDATE_MS = 100;

/** Which log the page shows. */
export interface LogChoice {
  readonly pod: ShownObject;
  readonly container: string;
  readonly isPrevious: boolean;
  readonly tail: number;
  readonly isFollowing: boolean;
}

/** A log while it is read. */
export interface LogState extends LogLines {
  /** `broken`: the connection was lost before the log ended. */
  readonly phase: "loading" | "streaming" | "ended" | "broken" | "failed";
  readonly error?: unknown;
}

const LOADING: LogState = { lines: [], dropped: 0, phase: "loading" };

/** Reads a log as long as the component exists. Returns it, and a function that reads it again. */
export function useLog({ pod: { namespace = "", name }, container, isPrevious, tail, isFollowing }: LogChoice): [LogState, () => void] {
  const [state, setState] = useState(LOADING);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const query = new URLSearchParams({
      container,
      tail: String(tail),
      previous: String(isPrevious),
      follow: String(isFollowing && !isPrevious),
    });
    const path = `/api/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/log?${query.toString()}`;
    void readLog(path, stop.signal, setState);
    return () => stop.abort();
  }, [namespace, name, container, isPrevious, tail, isFollowing, attempt]);
  const reload = useCallback(() => setAttempt((old) => old + 1), []);
  return [state, reload];
}

async function readLog(path: string, signal: AbortSignal, setState: (state: LogState) => void): Promise<void> {
  const buffer = new LogBuffer(MAX_LINES, LOG_LIMITS.bytes);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (phase: LogState["phase"]): void => {
    clearTimeout(timer);
    timer = undefined;
    if (!signal.aborted) setState({ ...buffer.read(), phase });
  };
  setState(LOADING);
  let response: Response;
  try {
    response = await send(path, { headers: { ...buildHeaders(), accept: "text/plain, application/json" }, signal, cache: "no-store" });
  } catch (error) {
    if (!signal.aborted) setState({ ...LOADING, phase: "failed", error });
    return;
  }
  show("streaming");
  try {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      buffer.append(read.value);
      timer ??= setTimeout(() => show("streaming"), UPDATE_MS);
    }
    show("ended");
  } catch {
    show("broken");
  }
}
