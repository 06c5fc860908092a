import { messageOf, wrapError } from "../../errors/errors.ts";
import type { CallOptions } from "../../kube/request.ts";
import { hasHealth } from "../../release/health/health.ts";
import { objectKey } from "../../release/identity.ts";
import {
  isPending,
  type LeftObject,
  lastDeployed,
  type ReleaseRecord,
  type ReleaseStatus,
  releasesToRemove,
} from "../../release/record.ts";
import type { ReleaseState } from "../../release/state.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type ReleaseHistory, type ReleaseOwner, type ReleaseStore, recordOf, requireReadable } from "./releaseStore.ts";

/** What a release that begins is about. */
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
>;

/** Where and for whom one pass keeps its record. */
export interface JournalOptions {
  store: Pick<ReleaseStore, "create" | "update" | "read" | "remove">;
  owner: ReleaseOwner;
  history: ReleaseHistory;
  /** Milliseconds since the epoch. */
  now: () => number;
  signal: AbortSignal;
  log: Logger;
}

/** Longest description of a release, in characters. */
const MAX_DESCRIPTION = 1_024;

/**
 * Keeps the record of one pass: a release is pending before the first object is written, deployed after the last, failed when one was
 * refused. A release that stopped or failed is gone on with under its number while the very same is wanted, so that trying again for a
 * night writes no second record.
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
   * @returns the record to give to `deployed` or `failed`.
   * @throws ReleaseUnreadable when there is a release that cannot be read: it may own objects that this one would overwrite or prune.
   */
  async begin(content: ReleaseContent, state: ReleaseState): Promise<ReleaseRecord> {
    const { store, owner, history, now } = this.#options;
    requireReadable(history);
    for (const version of history.unfinished) await store.remove(owner.name, version, this.#calls);
    const isUpgrade = lastDeployed(history.current) !== undefined;
    const lastDeployedAt = new Date(now()).toISOString();
    const begun = {
      name: owner.name,
      ...beginning(content, isUpgrade),
      lastDeployed: lastDeployedAt,
      ...content,
    };
    const [latest] = history.current;
    if (latest && goesOn(state, content)) {
      const record = { ...begun, version: latest.version, firstDeployed: latest.firstDeployed };
      await storing(record, store.update(record, owner, this.#calls));
      return record;
    }
    const record = { ...begun, version: history.highest + 1, firstDeployed: latest?.firstDeployed ?? lastDeployedAt };
    await storing(record, store.create(record, owner, this.#calls));
    return record;
  }

  /**
   * Stores that everything of a release is on the cluster and nothing else of the extension; then puts the others in order.
   * @returns the record as it is stored; one without any object that could be unhealthy is rolled out with that.
   */
  async deployed(record: ReleaseRecord): Promise<ReleaseRecord> {
    const rolledOut = record.objects.some(hasHealth) ? {} : { rolledOutAt: new Date(this.#options.now()).toISOString() };
    const deployed: ReleaseRecord = { ...record, ...rolledOut, status: "deployed", description: "deployed" };
    await storing(deployed, this.#options.store.update(deployed, this.#options.owner, this.#calls));
    await this.settle(deployed);
    return deployed;
  }

  /** Stores that a release failed. What goes wrong here is only logged: the failure itself must be told. @returns the record as it is stored. */
  async failed(record: ReleaseRecord, description: string): Promise<ReleaseRecord> {
    const { store, owner, history, log } = this.#options;
    const failed: ReleaseRecord = { ...record, status: "failed", description: description.slice(0, MAX_DESCRIPTION) };
    try {
      await store.update(failed, owner, this.#calls);
      await this.#trim(failed, this.#holdingMoreThan([record, ...history.current.filter(({ status }) => status === "deployed")]));
    } catch (err) {
      log.warn({ release: record.version, reason: messageOf(err) }, "failed release not recorded as such; it counts as interrupted");
    }
    return failed;
  }

  /**
   * Renews what an unchanged release was rendered from, so that the next pass need not render again to find it unchanged, and adds what
   * is known of its bundle by now where the release does not say it.
   * @returns the record as it is stored: what else this reconcile stores of the release must start from it.
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
   * Stores what a release leaves behind by now. The record is read again, because an earlier step of the reconcile may have renewed it.
   * @returns the record as it is stored.
   */
  async leave(release: ReleaseRecord, left: readonly LeftObject[]): Promise<ReleaseRecord> {
    const { store, owner } = this.#options;
    const { left: _before, ...rest } = recordOf(await store.read(owner.name, release.version, this.#calls)) ?? release;
    const record: ReleaseRecord = left.length > 0 ? { ...rest, left } : rest;
    await store.update(record, owner, this.#calls);
    return record;
  }

  /**
   * Leaves `newest` as the only deployed release and none pending, all of them marked as the extension's, and as many as the history keeps.
   * What goes wrong is only logged, and put in order by a later pass.
   */
  async settle(newest: ReleaseRecord): Promise<void> {
    const { store, owner, history, log } = this.#options;
    const known = new Map(history.current.map((release) => [release.version, release]));
    const others = [...history.current, ...history.older].filter(({ version }) => version !== newest.version);
    try {
      for (const other of others) {
        const status: ReleaseStatus | undefined = other.status === "deployed" ? "superseded" : isPending(other) ? "failed" : undefined;
        if (!status && !(history.orphaned && known.has(other.version))) continue;
        const record = known.get(other.version) ?? recordOf(await store.read(owner.name, other.version, this.#calls));
        const ending = status ? endingOf(other.version, status, newest) : {};
        if (record) await store.update({ ...record, ...ending }, owner, this.#calls);
      }
      if (history.orphaned && known.has(newest.version)) await store.update(newest, owner, this.#calls);
      await this.#trim(newest, () => false);
    } catch (err) {
      log.warn({ release: newest.version, reason: messageOf(err) }, "older releases not put in order");
    }
  }

  /** Whether releases other than the newest are left as if they were current, or some are not marked as the extension's. */
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
    const removable = releasesToRemove([newest, ...others]).filter((version) => !keeps(version));
    for (const version of [...history.unfinished, ...removable]) await store.remove(owner.name, version, this.#calls);
  }

  /** True of an attempt that may have left an object on the cluster that `known` do not name: without its record nobody would prune it. */
  #holdingMoreThan(known: readonly ReleaseRecord[]): (version: number) => boolean {
    const named = new Set(known.flatMap(({ objects }) => objects.map(objectKey)));
    const { current } = this.#options.history;
    return (version) =>
      current.some((release) => release.version === version && release.objects.some((object) => !named.has(objectKey(object))));
  }
}

function beginning({ rolledBack, pinnedTo }: ReleaseContent, isUpgrade: boolean): Pick<ReleaseRecord, "status" | "description"> {
  if (rolledBack) return { status: "pending-rollback", description: `rolling back release v${rolledBack.release}` };
  if (pinnedTo !== undefined) return { status: "pending-rollback", description: `rolling back to release v${pinnedTo}` };
  if (isUpgrade) return { status: "pending-upgrade", description: "preparing upgrade" };
  return { status: "pending-install", description: "initial install underway" };
}

/** What was given up has failed, although all of it was on the cluster. */
function endingOf(version: number, status: ReleaseStatus, newest: ReleaseRecord): Pick<ReleaseRecord, "status" | "description"> {
  if (newest.rolledBack?.release !== version) return { status, description: `followed by release v${newest.version}` };
  return {
    status: "failed",
    description: `rolled back by release v${newest.version}: ${newest.rolledBack.message}`.slice(0, MAX_DESCRIPTION),
  };
}

async function storing({ version, status }: ReleaseRecord, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (err) {
    throw wrapError(`store release v${version} as ${status}: `, err);
  }
}

/** Whether the newest release stopped or failed with exactly this content. */
function goesOn(state: ReleaseState, { labels }: ReleaseContent): boolean {
  if (state.kind !== "Interrupted" && state.kind !== "Failed") return false;
  const recorded = state.release.labels;
  const same = Object.keys({ ...recorded, ...labels }).every((key) => recorded[key] === labels[key]);
  return state.sameObjects && same && state.release.status !== "uninstalling";
}
