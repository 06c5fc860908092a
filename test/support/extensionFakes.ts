import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import type { Json, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { StepContext } from "../../pkg/controller/stepSequence.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import { KubeError } from "../../pkg/kube/errors.ts";
import type { CatalogLister, PackageReader } from "../../pkg/operatorcontroller/catalogs/catalogPackages.ts";
import {
  type HistoryOptions,
  newReleaseHistory,
  type ReleaseHistory,
  type ReleaseOwner,
} from "../../pkg/operatorcontroller/releases/releaseStore.ts";
import { listReleasesWithObjects, type ReleaseRecord, sortNewestFirst } from "../../pkg/release/record.ts";
import type { DecodedRelease, UnreadableRelease } from "../../pkg/release/storage/decode.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { asRead } from "./releases.ts";

/** The inputs of a step, without logs. */
export function stepContext(signal = new AbortController().signal): StepContext {
  return { log: createLogger({ component: "test", level: "silent" }), signal };
}

/** Events as "Type Reason: message". */
export class RecordedEvents {
  readonly seen: string[] = [];

  record(_object: KubeObject, type: string, reason: string, message: string): void {
    this.seen.push(`${type} ${reason}: ${message}`);
  }
}

/** Releases in memory instead of in Secrets; a test can make the next calls of a method fail. */
export class MemoryReleases {
  readonly records = new Map<number, ReleaseRecord>();
  /** Revisions that were not stored completely. */
  readonly unfinished: number[] = [];
  readonly calls: string[] = [];
  readonly failures: Partial<Record<"create" | "update" | "remove" | "read" | "history", Error>> = {};
  orphaned = false;
  /** Secrets that cannot be read. */
  readonly unreadable: UnreadableRelease[] = [];

  constructor(...records: ReleaseRecord[]) {
    for (const record of records) this.records.set(record.version, record);
  }

  /** Such as "v1 superseded", oldest first. */
  get state(): string[] {
    return [...this.records.values()].sort((a, b) => a.version - b.version).map(({ version, status }) => `v${version} ${status}`);
  }

  /** Returns the releases like ReleaseStore, without waiting. */
  now(): ReleaseHistory {
    const all = sortNewestFirst([...this.records.values()]);
    const current = listReleasesWithObjects(all);
    const older = all.filter((record) => !current.includes(record)).map(({ version, status }) => ({ version, status }));
    const highest = Math.max(0, ...this.records.keys(), ...this.unfinished);
    return {
      ...newReleaseHistory(),
      current,
      older,
      highest,
      unfinished: [...this.unfinished],
      orphaned: this.orphaned,
      unreadable: [...this.unreadable],
      etag: this.state.join(),
    };
  }

  history(_owner?: ReleaseOwner, { known }: HistoryOptions = {}): Promise<ReleaseHistory> {
    const unchanged = known?.etag === this.state.join() ? known : undefined;
    return this.#call("history", unchanged ? "history unchanged" : "history", () => unchanged ?? this.now());
  }

  create(record: ReleaseRecord): Promise<void> {
    return this.#call("create", `create v${record.version} ${record.status}`, () => void this.records.set(record.version, record));
  }

  update(record: ReleaseRecord): Promise<void> {
    return this.#call("update", `update v${record.version} ${record.status}`, () => void this.records.set(record.version, record));
  }

  read(_extension: string, version: number): Promise<DecodedRelease | undefined> {
    return this.#call("read", `read v${version}`, () => asRead(this.records.get(version)));
  }

  remove(_extension: string, version: number): Promise<void> {
    return this.#call("remove", `remove v${version}`, () => void this.records.delete(version));
  }

  #call<T>(method: keyof MemoryReleases["failures"], line: string, run: () => T): Promise<T> {
    this.calls.push(line);
    const failure = this.failures[method];
    return failure ? Promise.reject(failure) : Promise.resolve(run());
  }
}

/** Accepts patches of one object, or rejects them. */
export class RecordedPatches {
  readonly bodies: Json[] = [];
  /** The uid of the existing object; undefined if there is none. */
  uid: string | undefined = "u";
  /** The errors of the next calls, one each; later calls succeed. */
  readonly failures: Error[] = [];

  get<T extends KubeObject>({ name, ...gvk }: ObjectRef): Promise<T | undefined> {
    return Promise.resolve(this.uid === undefined ? undefined : ({ ...gvk, metadata: { name, uid: this.uid } } as KubeObject as T));
  }

  patch<T extends KubeObject>(ref: ObjectRef, body: unknown): Promise<T> {
    this.bodies.push(body as Json);
    const failure = this.failures.shift();
    if (failure) return Promise.reject(failure);
    return Promise.resolve({ ...ref, metadata: { name: ref.name } } as KubeObject as T);
  }
}

/** Creates the error of an API server that rejects a request. */
export function refusal(status: number, reason: string, message = reason): KubeError {
  return new KubeError(message, { status, reason });
}

/** Catalogs in the form of an informer's store. */
export class ListedCatalogs implements CatalogLister {
  readonly #catalogs: readonly ClusterCatalog[];

  constructor(catalogs: readonly ClusterCatalog[]) {
    this.#catalogs = catalogs;
  }

  list(): readonly ClusterCatalog[] {
    return this.#catalogs;
  }
}

/** Packages by the base URL of their catalog; a catalog without an entry cannot be read. */
export class CannedPackages implements PackageReader {
  readonly #byBase: ReadonlyMap<string, PackageContent | undefined>;

  constructor(byBase: ReadonlyMap<string, PackageContent | undefined>) {
    this.#byBase = byBase;
  }

  packageContent(base: string): Promise<PackageContent | undefined> {
    if (!this.#byBase.has(base)) return Promise.reject(new Error("error performing request: connection refused"));
    return Promise.resolve(this.#byBase.get(base));
  }
}
