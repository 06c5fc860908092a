import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { BackgroundJobs } from "../../async/backgroundJobs.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { migrateStorage, type StorageMigrationCount, type StorageMigrationProgress } from "./storageMigration.ts";

/** Custom resources per second, like the default of `olmv1 crd migrate`. */
const RATE = 50;
/** A migration stops if nothing follows it for this long, in milliseconds: its extension was deleted, suspended or changed. */
const ABANDONED_MS = 120_000;

const NO_PROGRESS: StorageMigrationProgress = { migrated: 0, failed: 0, errors: [] };

/** The state of a migration: running, or why it failed. */
export type StorageMigrationState =
  | { readonly kind: "running"; readonly progress: StorageMigrationProgress }
  | { readonly kind: "rejected"; readonly count: StorageMigrationCount }
  | { readonly kind: "failed"; readonly error: unknown };

/** What a migration reads and writes. */
export type MigrationClient = Pick<Client, "get" | "listPage" | "patch">;

/**
 * Runs the storage migrations of the controller in the background, so that they do not block reconciles. After a restart, the next reconcile starts the
 * migration again, which does not write the custom resources that are already migrated.
 */
export class StorageMigrator {
  readonly #rate: number;
  readonly #jobs: BackgroundJobs<StorageMigrationProgress, StorageMigrationCount>;

  /** @param rate maximum number of custom resources per second, for each CRD */
  constructor({ clock = systemClock, rate = RATE }: { clock?: Clock; rate?: number } = {}) {
    this.#rate = rate;
    this.#jobs = new BackgroundJobs(clock, ABANDONED_MS);
  }

  /**
   * Starts the migration of a CRD for an extension, or follows the running one. Reports each failure once; the next call starts again.
   * @param owner uid of the extension. A migration uses the client of the call that started it.
   */
  follow(owner: string, client: MigrationClient, crd: KubeObject): StorageMigrationState {
    const key = toKey(crd);
    const outcome = this.#jobs.find(owner, key)?.outcome;
    this.#jobs.forget(owner, key);
    if (outcome && "error" in outcome) return { kind: "failed", error: outcome.error };
    if (outcome && outcome.result.failed > 0) return { kind: "rejected", count: outcome.result };
    const { progress } = this.#jobs.follow(owner, key, NO_PROGRESS, async (signal, report) => {
      // The reconcile may have read the CRD before the end of an earlier migration.
      const live = await client.get(toObjectRef(crd), { signal });
      return live ? migrateStorage(client, live, { rate: this.#rate, signal, report }) : NO_PROGRESS;
    });
    return { kind: "running", progress };
  }

  /** Returns the progress of a running migration, and keeps it running; undefined after its end. */
  poll(owner: string, crd: KubeObject): StorageMigrationProgress | undefined {
    const job = this.#jobs.find(owner, toKey(crd));
    return job?.outcome ? undefined : job?.progress;
  }

  /** Stops all migrations, and waits for their end. */
  end(): Promise<void> {
    return this.#jobs.end();
  }
}

function toKey({ metadata: { uid = "" } }: KubeObject): string {
  return uid;
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
