import { expect, test } from "vitest";
import { poll, WaitTimeoutError, waitFor } from "./poll.ts";

const { signal } = new AbortController();

test.for([
  { name: "a result", timeoutMs: 10_000, answers: [{ reason: "not yet" }, { done: 7 }], want: { done: 7 } },
  {
    name: "the last reason after the time limit",
    timeoutMs: 0,
    answers: [{ reason: "not yet" }, { done: 7 }],
    want: { reason: "not yet" },
  },
])("poll returns $name", async ({ timeoutMs, answers, want }) => {
  const left = [...answers];
  expect(await poll({ timeoutMs, signal }, () => Promise.resolve(left.shift() ?? { done: 0 }))).toEqual(want);
});

test("poll rejects at once when it is aborted or when a question fails", async () => {
  const reason = (): Promise<{ reason: string }> => Promise.resolve({ reason: "not yet" });
  await expect(poll({ timeoutMs: 10_000, signal: AbortSignal.abort() }, reason)).rejects.toThrow("aborted");
  await expect(poll({ timeoutMs: 10_000, signal }, () => Promise.reject(new Error("denied")))).rejects.toThrow("denied");
});

test("waitFor reports its subject and the last reason after the time limit", async () => {
  const waiting = waitFor({ timeoutMs: 0, signal, what: "the Pod to start" }, () => Promise.resolve({ reason: "no node" }));
  await expect(waiting).rejects.toThrow(new WaitTimeoutError("timed out after 0 s waiting for the Pod to start: no node"));
});
