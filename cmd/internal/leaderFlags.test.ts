import { expect, test } from "vitest";
import { type Leadership, leadUntilLost } from "./leaderFlags.ts";

const leadership: Pick<Leadership, "run"> = { run: (signal, lead) => lead(signal) };

test("leadUntilLost fails when the work of the leader ends before the signal aborts", async () => {
  const { signal } = new AbortController();
  await expect(leadUntilLost(leadership, signal, () => Promise.resolve())).rejects.toThrow("leader election lost");
});

test("leadUntilLost returns when the signal aborts", async () => {
  const stop = new AbortController();
  const lead = (): Promise<void> => Promise.resolve(stop.abort());
  await expect(leadUntilLost(leadership, stop.signal, lead)).resolves.toBeUndefined();
});
