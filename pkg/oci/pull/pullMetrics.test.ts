import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import { PullPool, registerPullMetrics, toPullTarget } from "./pullPool.ts";

async function readPulls(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith("t_image_pulls"));
}

test("registerPullMetrics reports running and waiting pulls in only two series, even when pulls use many registries", async () => {
  const metrics = createMetrics("t");
  const pool = new PullPool<string>({ clock: new FakeClock(), onChange: () => undefined });
  registerPullMetrics(metrics, () => pool);
  expect(await readPulls(metrics)).toEqual(['t_image_pulls{state="running"} 0', 't_image_pulls{state="waiting"} 0']);
  const hang = (signal: AbortSignal): Promise<string> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  for (let i = 0; i < 100; i++) pool.request(`owner-${i}`, "key", toPullTarget(`host-${i}.example/app:v1`), hang);
  expect(await readPulls(metrics)).toEqual(['t_image_pulls{state="running"} 64', 't_image_pulls{state="waiting"} 36']);
  await pool.close();
  expect(await readPulls(metrics)).toEqual(['t_image_pulls{state="running"} 0', 't_image_pulls{state="waiting"} 0']);
});
