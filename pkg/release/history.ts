import { lastDeployed, newestFirst, type ReleaseSummary } from "./record.ts";

/** How many releases of an extension are kept, as Helm does. */
export const MAX_HISTORY = 10;

/**
 * The versions that go, oldest first: all but the newest ten, and never the last deployed one,
 * so that any number of failed attempts leaves something to go back to.
 */
export function releasesToRemove(history: readonly ReleaseSummary[]): number[] {
  const keep = lastDeployed(history)?.version;
  const old = newestFirst(history).slice(keep === undefined || isAmongNewest(history, keep) ? MAX_HISTORY : MAX_HISTORY - 1);
  return old
    .map((release) => release.version)
    .filter((version) => version !== keep)
    .reverse();
}

/**
 * The releases whose objects may be on the cluster, newest first: the last deployed one and every attempt after it;
 * all of them where none was ever deployed.
 */
export function releasesWithObjects<T extends ReleaseSummary>(history: readonly T[]): T[] {
  const deployed = lastDeployed(history);
  return newestFirst(history).filter((release) => release.version >= (deployed?.version ?? 0));
}

/**
 * The releases that count as installed, newest first: the last deployed one and every attempt after it, but for records of an uninstallation.
 * Without a deployed one every release counts that is newer than the last uninstallation, since objects of each may be on the cluster.
 */
export function activeReleases<T extends ReleaseSummary>(history: readonly T[]): T[] {
  const all = newestFirst(history);
  const uninstalled = lastDeployed(all) ? -1 : all.findIndex(({ status }) => status === "uninstalled");
  return releasesWithObjects(uninstalled < 0 ? all : all.slice(0, uninstalled)).filter(({ status }) => status !== "uninstalled");
}

function isAmongNewest(history: readonly ReleaseSummary[], version: number): boolean {
  return newestFirst(history)
    .slice(0, MAX_HISTORY)
    .some((release) => release.version === version);
}
