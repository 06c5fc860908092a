import { newestFirst, type ReleaseStatus, type ReleaseSummary } from "./record.ts";

/** What a release was once all of it was on the cluster. */
const COMPLETE: readonly ReleaseStatus[] = ["deployed", "superseded"];

/**
 * The revision of an annotation `rollback-to`.
 * @throws Error for anything but a whole number from 1.
 */
export function parseRevision(text: string): number {
  const revision = Number(text);
  if (!/^[0-9]{1,9}$/.test(text) || revision < 1) throw new Error(`"${text.slice(0, 64)}" is no revision, which is a whole number from 1`);
  return revision;
}

/**
 * Checks that a revision can be rolled back to: it is among the releases, and all of it was on the cluster.
 * @throws Error that names those that can.
 */
export function requireRevision(releases: readonly ReleaseSummary[], revision: number): void {
  const found = releases.find(({ version }) => version === revision);
  const able = newestFirst(releases.filter(({ status }) => COMPLETE.includes(status))).map(({ version }) => version);
  const others = able.length === 0 ? "there is none to go back to" : `one of these can be gone back to: ${able.join(", ")}`;
  if (!found) throw new Error(`revision ${revision} is not among the releases that are kept: ${others}`);
  if (!COMPLETE.includes(found.status))
    throw new Error(`revision ${revision} was never applied completely, it is ${found.status}: ${others}`);
}

/**
 * The revision before the one that is deployed.
 * @throws Error when there is none.
 */
export function previousRevision(releases: readonly ReleaseSummary[]): number {
  const deployed = newestFirst(releases).find(({ status }) => status === "deployed");
  const before = newestFirst(releases).find(({ version, status }) => status === "superseded" && version < (deployed?.version ?? 0));
  if (!before) throw new Error("there is no earlier revision to go back to");
  return before.version;
}
