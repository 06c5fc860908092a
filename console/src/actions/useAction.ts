import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { type ActionRequest, ActionResult, PreparedAction } from "../../../pkg/consoleapi/actions.ts";
import { postJson } from "../api/request.ts";

/** The state of a change in its dialog. */
export type ActionState =
  | { readonly step: "preparing" }
  | { readonly step: "unprepared"; readonly error: unknown }
  | { readonly step: "prepared"; readonly prepared: PreparedAction }
  | { readonly step: "sending"; readonly prepared: PreparedAction }
  | { readonly step: "failed"; readonly prepared: PreparedAction; readonly error: unknown }
  | { readonly step: "sent"; readonly prepared: PreparedAction; readonly result: ActionResult };

/** Prepares a change, and runs it once. A repeated run after a lost connection has the same key, so the server sends the requests only once. */
export function useAction(request: ActionRequest): {
  readonly state: ActionState;
  readonly prepareAgain: () => void;
  readonly run: (confirmation: string) => void;
} {
  const [state, setState] = useState<ActionState>({ step: "preparing" });
  const [attempt, setAttempt] = useState(0);
  const key = useRef("");
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    key.current = createKey();
    setState({ step: "preparing" });
    postJson("/api/actions/prepare", request, PreparedAction, stop.signal).then(
      (prepared) => setState({ step: "prepared", prepared }),
      (error: unknown) => {
        if (!stop.signal.aborted) setState({ step: "unprepared", error });
      },
    );
    return () => stop.abort();
  }, [request, attempt]);
  const run = useCallback(
    (confirmation: string) => {
      if (state.step !== "prepared" && state.step !== "failed") return;
      const { prepared } = state;
      setState({ step: "sending", prepared });
      const body = { id: prepared.id, idempotencyKey: key.current, ...(confirmation === "" ? {} : { confirmation }) };
      postJson("/api/actions/run", body, ActionResult)
        .then(
          (result) => setState({ step: "sent", prepared, result }),
          (error: unknown) => setState({ step: "failed", prepared, error }),
        )
        .finally(() => void queries.invalidateQueries());
    },
    [state, queries],
  );
  return { state, prepareAgain: useCallback(() => setAttempt((number) => number + 1), []), run };
}

/** Returns a random key. `crypto.randomUUID` does not exist on pages without TLS. */
function createKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
