import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LockTimes, withDirectoryLock } from "./binaryCache.ts";

const TIMES: LockTimes = { pollMs: 10, heartbeatMs: 50, staleMs: 1000 };
const nobodyWaits = (): void => {
  throw new Error("the lock should be free");
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("withDirectoryLock runs one caller at a time, and reports the lock's owner once to each waiting caller", async () => {
  let inside = 0;
  let most = 0;
  const reported: (number | undefined)[] = [];
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await sleep(60);
    inside--;
  };
  const lock = (): Promise<void> => withDirectoryLock(join(folder, "lock"), (owner) => void reported.push(owner?.pid), work, TIMES);
  await Promise.all([lock(), lock(), lock()]);
  expect(most).toBe(1);
  expect(reported).toEqual([process.pid, process.pid]);
  expect(await readdir(folder)).toEqual([]);
});

test("withDirectoryLock returns the result or the failure of the work and releases the lock", async () => {
  const path = join(folder, "lock");
  await expect(withDirectoryLock(path, nobodyWaits, () => Promise.reject(new Error("broken")), TIMES)).rejects.toThrow("broken");
  expect(await withDirectoryLock(path, nobodyWaits, () => Promise.resolve(7), TIMES)).toBe(7);
});

test("withDirectoryLock takes over the lock of a killed process immediately, despite a recent heartbeat", async () => {
  const path = join(folder, "lock");
  const script = `
    const { withDirectoryLock } = await import(${JSON.stringify(join(import.meta.dirname, "binaryCache.ts"))});
    await withDirectoryLock(${JSON.stringify(path)}, () => {}, async () => { console.log("held"); await new Promise((resolve) => setTimeout(resolve, 60_000)); });`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  const contenders = [1, 2, 3].map((n) =>
    withDirectoryLock(
      path,
      () => undefined,
      () => Promise.resolve(n),
      { ...TIMES, staleMs: 60_000 },
    ),
  );
  await sleep(50);
  expect(await readdir(folder)).toContain("lock");
  holder.kill("SIGKILL");
  expect(await Promise.all(contenders)).toEqual([1, 2, 3]);
});

test("withDirectoryLock waits while another machine sends heartbeats for its lock, and then takes over the lock", async () => {
  const path = join(folder, "lock");
  await mkdir(path);
  await writeFile(join(path, "owner.json"), JSON.stringify({ pid: 1, host: `not-${hostname()}`, token: "x" }));
  const beat = setInterval(() => void utimes(path, new Date(), new Date()), 100);
  let got = false;
  const taken = withDirectoryLock(
    path,
    () => undefined,
    () => Promise.resolve((got = true)),
    TIMES,
  );
  await sleep(1500);
  expect(got).toBe(false);
  clearInterval(beat);
  await taken;
});
