import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { AuditEvent } from "../../support/cluster.ts";

const SETTLE_MS = 10_000;

/** Waits until no watch of an object was begun for some seconds. @returns how many there are. */
export async function untilWatched(auditLog: string): Promise<number> {
  let [before, now] = [-1, 0];
  while (before !== now) {
    await sleep(SETTLE_MS);
    [before, now] = [now, await streamsIn(auditLog)];
  }
  return now;
}

/** What installers have begun to watch: the list before each watch, which unlike a watch is in the log before it ends. */
async function streamsIn(auditLog: string): Promise<number> {
  const lines = (await readFile(auditLog, "utf8")).split("\n").filter((line) => line.includes('"verb":"list"'));
  const lists = lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ user }) => /^system:serviceaccount:tiny-\d+:/.test(user.username));
  const selected = lists.filter(({ requestURI, responseStatus }) => requestURI.includes("Selector=") && responseStatus?.code === 200);
  return new Set(selected.map(({ user, requestURI }) => `${user.username} ${requestURI}`)).size;
}
