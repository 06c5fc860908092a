import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { migrateStorage, type StorageMigrationCount, type StorageMigrationProgress } from "./storageMigration.ts";

/** Custom resources per second, like the default of `olmv1 crd migrate`. */
const RATE = 50;
/** A migration stops if nothing follows it for this long, in milliseconds: its extension was deleted, suspended or changed. */
const ABANDONED_MS = 120_000;

const NO_PROGRESS: StorageMigrationProgress = { migrated: 0, failed: 0, errors: [] };

/** A migration in the background. */
interface Job {
  readonly stop: AbortController;
  ended: Promise<void>;
  progress: StorageMigrationProgress;
  followedAt: number;
}

/** The state of a migration: running, or why it failed. */
export type StorageMigrationState =
  | { readonly kind: "running"; readonly progress: StorageMigrationProgress }
  | { readonly kind: "rejected"; readonly count: StorageMigrationCount }
  | { readonly kind: "failed"; readonly error: unknown };

/** What a migration reads and writes. */
export type MigrationClient = Pick<Client, "get" | "listPage" | "patch">;

/**
 * Runs the storage migrations of the controller in the background, so that they do not block reconciles. In-memory only: after a restart, the next
 * reconcile starts the migration again, which does not write the custom resources that are already migrated.
 */
export class StorageMigrator {
  readonly #clock: Clock;
  readonly #rate: number;
  readonly #jobs = new Map<string, Job>();
  readonly #failures = new Map<string, StorageMigrationState>();

  /** @param rate maximum number of custom resources per second, for each CRD */
  constructor({ clock = systemClock, rate = RATE }: { clock?: Clock; rate?: number } = {}) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /**
   * Starts the migration of a CRD for an extension, or follows the running one. Reports each failure once; the next call starts again.
   * @param owner uid of the extension. A migration uses the client of the call that started it.
   */
  follow(owner: string, client: MigrationClient, crd: KubeObject): StorageMigrationState {
    const key = toKey(owner, crd);
    const failure = this.#failures.get(key);
    this.#failures.delete(key);
    if (failure) return failure;
    const job = this.#jobs.get(key) ?? this.#start(key, client, crd);
    job.followedAt = this.#clock.now();
    return { kind: "running", progress: job.progress };
  }

  /** Returns the progress of a running migration, and keeps it running; undefined after its end. */
  poll(owner: string, crd: KubeObject): StorageMigrationProgress | undefined {
    const job = this.#jobs.get(toKey(owner, crd));
    if (job) job.followedAt = this.#clock.now();
    return job?.progress;
  }

  /** Stops all migrations, and waits for their end. */
  async end(): Promise<void> {
    const jobs = [...this.#jobs.values()];
    for (const { stop } of jobs) stop.abort();
    await Promise.all(jobs.map(({ ended }) => ended));
  }

  #start(key: string, client: MigrationClient, crd: KubeObject): Job {
    const stop = new AbortController();
    const report = (progress: StorageMigrationProgress): void => {
      job.progress = progress;
      if (this.#clock.now() - job.followedAt > ABANDONED_MS) stop.abort();
    };
    const run = async (): Promise<void> => {
      try {
        // The reconcile may have read the CRD before the end of an earlier migration.
        const live = await client.get(toObjectRef(crd), { signal: stop.signal });
        const count = live ? await migrateStorage(client, live, { rate: this.#rate, signal: stop.signal, report }) : NO_PROGRESS;
        if (count.failed > 0) this.#failures.set(key, { kind: "rejected", count });
      } catch (error) {
        if (!stop.signal.aborted) this.#failures.set(key, { kind: "failed", error });
      } finally {
        this.#jobs.delete(key);
      }
    };
    const job: Job = { stop, ended: Promise.resolve(), progress: NO_PROGRESS, followedAt: this.#clock.now() };
    this.#jobs.set(key, job);
    job.ended = run();
    return job;
  }
}

function toKey(owner: string, { metadata: { uid = "" } }: KubeObject): string {
  return `${owner}/${uid}`;
}

/** Formats the progress, such as "300 of 1200 custom resources". */
export function formatMigrationProgress({ migrated, failed, total }: StorageMigrationProgress): string {
  const done = migrated + failed;
  return `${done}${total === undefined ? "" : ` of ${Math.max(total, done)}`} custom resources`;
}

/** Describes why a migration did not succeed. */
export function describeMigrationFailure(state: Exclude<StorageMigrationState, { kind: "running" }>): string {
  if (state.kind === "failed") return getErrorMessage(state.error);
  const { migrated, failed, errors } = state.count;
  return `the API server rejected ${failed} of ${migrated + failed} custom resources: ${errors.join("; ")}`;
}
