import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Who holds a lock, as its `owner.json` says. */
export interface LockOwner {
  readonly pid: number;
  readonly host: string;
  /** Different each time a lock is taken. */
  readonly token: string;
}

/** Times of a lock, in milliseconds; the defaults fit work of seconds to minutes. */
export interface LockTimes {
  /** How often a waiting process looks again. */
  readonly pollMs: number;
  /** How often the holder shows that it lives. */
  readonly heartbeatMs: number;
  /** A holder that has not shown so for this long is taken for dead, whatever its process id says. */
  readonly staleMs: number;
}

const TIMES: LockTimes = { pollMs: 250, heartbeatMs: 2000, staleMs: 30_000 };

/**
 * Runs `work` while holding the lock `path`, a folder that exists as long as it is held. Waits for another holder as long as that
 * one lives; the lock of a holder that was killed is taken over: at once when its process id is gone on this machine, else after `staleMs`.
 * @param waiting called once when somebody else holds the lock.
 */
export async function withDirectoryLock<T>(
  path: string,
  waiting: (owner: LockOwner | undefined) => void,
  work: () => Promise<T>,
  times = TIMES,
): Promise<T> {
  const mine: LockOwner = { pid: process.pid, host: hostname(), token: randomUUID() };
  let told = false;
  while (!(await take(path, mine))) {
    const owner = await ownerOf(path);
    if (await isDead(path, owner, times.staleMs)) {
      await removeLock(path, owner);
      continue;
    }
    if (!told) waiting(owner);
    told = true;
    await sleep(times.pollMs);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, times.heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if ((await ownerOf(path))?.token === mine.token) await removeLock(path, mine);
  }
}

/** True when the folder is ours now. It appears together with its owner file: a folder prepared aside is renamed into place. */
async function take(path: string, owner: LockOwner): Promise<boolean> {
  const prepared = `${path}.${owner.token}`;
  await mkdir(prepared, { recursive: true });
  await writeFile(join(prepared, "owner.json"), JSON.stringify(owner));
  try {
    await rename(prepared, path);
    return true;
  } catch (err) {
    await rm(prepared, { recursive: true, force: true });
    if (isCode(err, "ENOTEMPTY") || isCode(err, "EEXIST")) return false;
    throw err;
  }
}

async function ownerOf(path: string): Promise<LockOwner | undefined> {
  const text = await readFile(join(path, "owner.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as LockOwner);
}

async function isDead(path: string, owner: LockOwner | undefined, staleMs: number): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return false;
  if (Date.now() - info.mtimeMs > staleMs) return true;
  return owner !== undefined && owner.host === hostname() && !isAlive(owner.pid);
}

/**
 * Removes the lock if `owner` still holds it: the folder is renamed away first, and one that turns out to be somebody else's
 * (two processes found the same dead holder) is put back.
 */
async function removeLock(path: string, owner: LockOwner | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}.old`;
  try {
    await rename(path, aside);
  } catch (err) {
    if (isCode(err, "ENOENT")) return;
    throw err;
  }
  if ((await ownerOf(aside))?.token !== owner?.token) await rename(aside, path).catch(() => undefined);
  await rm(aside, { recursive: true, force: true });
}

/** True when a process with this id exists on this machine, whoever it belongs to. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return isCode(err, "EPERM");
  }
}

function isCode(err: unknown, code: string): boolean {
  return err instanceof Error && "code" in err && err.code === code;
}
