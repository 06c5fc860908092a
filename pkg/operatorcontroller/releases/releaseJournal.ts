import { getErrorMessage, wrapError } from "../../errors/errors.ts";
import type { CallOptions } from "../../kube/request.ts";
import { hasHealth } from "../../release/health/health.ts";
import { getObjectKey } from "../../release/identity.ts";
import {
  findLastDeployed,
  findReleasesToRemove,
  isPending,
  type LeftObject,
  type ReleaseRecord,
  type ReleaseStatus,
} from "../../release/record.ts";
import type { ReleaseState } from "../../release/state.ts";
import type { Logger } from "../../telemetry/log.ts";
import { getRecord, type ReleaseHistory, type ReleaseOwner, type ReleaseStore, requireReadable } from "./releaseStore.ts";

/** The content of a release when it begins. */
export type ReleaseContent = Pick<
  ReleaseRecord,
  | "namespace"
  | "labels"
  | "annotations"
  | "properties"
  | "requirements"
  | "objects"
  | "inputDigest"
  | "imageDigest"
  | "proxy"
  | "cautions"
  | "flaws"
  | "rolledBack"
  | "pinnedTo"
  | "takenOver"
  | "sourced"
  | "generation"
  | "changedBy"
>;

/** The options of a ReleaseJournal. */
export interface JournalOptions {
  store: Pick<ReleaseStore, "create" | "update" | "read" | "remove">;
  owner: ReleaseOwner;
  history: ReleaseHistory;
  /** Milliseconds since the epoch. */
  now: () => number;
  signal: AbortSignal;
  log: Logger;
}

/** Maximum length of a release description, in characters. */
const MAX_DESCRIPTION = 1_024;

/**
 * Records the release of one reconcile: pending before the first object is written, deployed after the last one, failed after a failure. If the same
 * content is applied again, an interrupted or failed release continues with the same number. Retries therefore do not create more records.
 */
export class ReleaseJournal {
  readonly #options: JournalOptions;
  readonly #calls: CallOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#calls = { signal: options.signal };
  }

  /**
   * Stores that a release begins.
   * @returns the record for `markDeployed` or `markFailed`.
   * @throws ReleaseUnreadable if a release cannot be read: it may contain objects that the new release would overwrite or prune.
   */
  async begin(content: ReleaseContent, state: ReleaseState): Promise<ReleaseRecord> {
    const { store, owner, history, now } = this.#options;
    requireReadable(history);
    for (const version of history.unfinished) await store.remove(owner.name, version, this.#calls);
    const isUpgrade = findLastDeployed(history.current) !== undefined;
    const lastDeployedAt = new Date(getStart(history, now())).toISOString();
    const begun = {
      name: owner.name,
      ...getInitialStatus(content, isUpgrade),
      lastDeployed: lastDeployedAt,
      ...content,
    };
    const [latest] = history.current;
    if (latest && canContinue(state, content)) {
      const record = { ...begun, version: latest.version, firstDeployed: latest.firstDeployed };
      await wrapStoreError(record, store.update(record, owner, this.#calls));
      return record;
    }
    const record = { ...begun, version: history.highest + 1, firstDeployed: latest?.firstDeployed ?? lastDeployedAt };
    await wrapStoreError(record, store.create(record, owner, this.#calls));
    return record;
  }

  /**
   * Stores that a release is deployed completely, and then updates the other releases.
   * @returns the stored record. If no object of the release has a health status, its rollout is complete at once.
   */
  async markDeployed(record: ReleaseRecord): Promise<ReleaseRecord> {
    const rolledOut = record.objects.some(hasHealth) ? {} : { rolledOutAt: new Date(this.#options.now()).toISOString() };
    const deployed: ReleaseRecord = { ...record, ...rolledOut, status: "deployed", description: "deployed" };
    await wrapStoreError(deployed, this.#options.store.update(deployed, this.#options.owner, this.#calls));
    await this.settle(deployed);
    return deployed;
  }

  /** Stores that a release failed. Only logs errors while storing, because they must not hide the failure. @returns the stored record. */
  async markFailed(record: ReleaseRecord, description: string): Promise<ReleaseRecord> {
    const { store, owner, history, log } = this.#options;
    const failed: ReleaseRecord = { ...record, status: "failed", description: description.slice(0, MAX_DESCRIPTION) };
    try {
      await store.update(failed, owner, this.#calls);
      await this.#trim(failed, this.#hasOtherObjects([record, ...history.current.filter(({ status }) => status === "deployed")]));
    } catch (err) {
      log.warn(
        { release: record.version, reason: getErrorMessage(err) },
        "cannot record that the release failed; the next reconcile treats the release as interrupted",
      );
    }
    return failed;
  }

  /**
   * Stores the new input digest of an unchanged release. The next reconcile then need not render it again. Adds properties and requirements of the
   * bundle if the record does not contain them.
   * @returns the stored record, on which later updates in this reconcile must be based.
   */
  async renew(
    release: ReleaseRecord,
    content: Pick<ReleaseContent, "inputDigest" | "imageDigest" | "properties" | "requirements" | "proxy" | "sourced">,
  ): Promise<ReleaseRecord> {
    const { inputDigest, imageDigest, proxy, sourced } = content;
    if (inputDigest === undefined || release.inputDigest === inputDigest) return release;
    const properties = release.properties ?? content.properties;
    const requirements = release.requirements ?? content.requirements;
    const { proxy: _before, ...kept } = release;
    const renewed = {
      ...kept,
      inputDigest,
      ...(proxy === undefined ? {} : { proxy }),
      ...(imageDigest === undefined ? {} : { imageDigest }),
      ...(properties === undefined ? {} : { properties }),
      ...(requirements === undefined ? {} : { requirements }),
      ...(sourced === undefined ? {} : { sourced }),
    };
    await this.#options.store.update(renewed, this.#options.owner, this.#calls);
    return renewed;
  }

  /**
   * Stores the objects that are kept although the release does not contain them. Reads the record again, because an earlier step of the reconcile may
   * have updated it.
   * @returns the stored record.
   */
  async storeLeft(release: ReleaseRecord, left: readonly LeftObject[]): Promise<ReleaseRecord> {
    const { store, owner } = this.#options;
    const { left: _before, ...rest } = getRecord(await store.read(owner.name, release.version, this.#calls)) ?? release;
    const record: ReleaseRecord = left.length > 0 ? { ...rest, left } : rest;
    await store.update(record, owner, this.#calls);
    return record;
  }

  /**
   * Makes `newest` the only deployed release, ends pending ones, adds missing owner references, and deletes releases beyond the history limit.
   * Only logs errors; a later reconcile repeats it.
   */
  async settle(newest: ReleaseRecord): Promise<void> {
    const { store, owner, history, log } = this.#options;
    const known = new Map(history.current.map((release) => [release.version, release]));
    const others = [...history.current, ...history.older].filter(({ version }) => version !== newest.version);
    try {
      for (const other of others) {
        const status: ReleaseStatus | undefined = other.status === "deployed" ? "superseded" : isPending(other) ? "failed" : undefined;
        if (!status && !(history.orphaned && known.has(other.version))) continue;
        const record = known.get(other.version) ?? getRecord(await store.read(owner.name, other.version, this.#calls));
        const ending = status ? getFinalStatus(other.version, status, newest) : {};
        if (record) await store.update({ ...record, ...ending }, owner, this.#calls);
      }
      if (history.orphaned && known.has(newest.version)) await store.update(newest, owner, this.#calls);
      await this.#trim(newest, () => false);
    } catch (err) {
      log.warn({ release: newest.version, reason: getErrorMessage(err) }, "cannot update older releases");
    }
  }

  /** Whether releases other than the newest release are still deployed, pending or unfinished, or have no owner reference. */
  get isUnsettled(): boolean {
    const { history } = this.#options;
    const [, ...others] = history.current;
    return (
      history.orphaned ||
      history.unfinished.length > 0 ||
      [...others, ...history.older].some((other) => other.status === "deployed" || isPending(other))
    );
  }

  async #trim(newest: ReleaseRecord, keeps: (version: number) => boolean): Promise<void> {
    const { store, owner, history } = this.#options;
    const others = [...history.current, ...history.older].filter(({ version }) => version !== newest.version);
    const removable = findReleasesToRemove([newest, ...others]).filter((version) => !keeps(version));
    for (const version of [...history.unfinished, ...removable]) await store.remove(owner.name, version, this.#calls);
  }

  /**
   * Returns a check whether a failed attempt has objects that the releases in `known` do not contain. The records of such attempts must be kept;
   * otherwise their objects would never be pruned.
   */
  #hasOtherObjects(known: readonly ReleaseRecord[]): (version: number) => boolean {
    const named = new Set(known.flatMap(({ objects }) => objects.map(getObjectKey)));
    const { current } = this.#options.history;
    return (version) =>
      current.some((release) => release.version === version && release.objects.some((object) => !named.has(getObjectKey(object))));
  }
}

/** Returns the time of a release that begins, in milliseconds: never before imported releases, because the times decide which ones it replaces. */
function getStart({ current }: ReleaseHistory, now: number): number {
  const imported = current.flatMap(({ objectSet, lastDeployed }) => (objectSet === undefined ? [] : [Date.parse(lastDeployed)]));
  return Math.max(now, ...imported.filter((time) => !Number.isNaN(time)));
}

function getInitialStatus({ rolledBack, pinnedTo }: ReleaseContent, isUpgrade: boolean): Pick<ReleaseRecord, "status" | "description"> {
  if (rolledBack) return { status: "pending-rollback", description: `rolling back release v${rolledBack.release}` };
  if (pinnedTo !== undefined) return { status: "pending-rollback", description: `rolling back to release v${pinnedTo}` };
  if (isUpgrade) return { status: "pending-upgrade", description: "preparing upgrade" };
  return { status: "pending-install", description: "initial install underway" };
}

/** Returns the final status of an earlier release: `failed` if it was rolled back, although it was deployed. */
function getFinalStatus(version: number, status: ReleaseStatus, newest: ReleaseRecord): Pick<ReleaseRecord, "status" | "description"> {
  if (newest.rolledBack?.release !== version) return { status, description: `superseded by revision ${newest.version}` };
  return {
    status: "failed",
    description: `rolled back by release v${newest.version}: ${newest.rolledBack.message}`.slice(0, MAX_DESCRIPTION),
  };
}

async function wrapStoreError({ version, status }: ReleaseRecord, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (err) {
    throw wrapError(`cannot store release v${version} with status ${status}: `, err);
  }
}

/** Reports whether the newest release was interrupted or failed with exactly this content. */
function canContinue(state: ReleaseState, { labels }: ReleaseContent): boolean {
  if (state.kind !== "Interrupted" && state.kind !== "Failed") return false;
  const recorded = state.release.labels;
  const same = Object.keys({ ...recorded, ...labels }).every((key) => recorded[key] === labels[key]);
  return state.sameObjects && same && state.release.status !== "uninstalling";
}
