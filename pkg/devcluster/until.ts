import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;

/**
 * Asks `done` until it says yes; what it throws ends the wait.
 * @throws Error that names `what` when it took longer than `timeoutMs`.
 */
export async function until(timeoutMs: number, what: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await done())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs / 1_000} s in vain until ${what}`);
    await sleep(POLL_MS);
  }
}
