import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { CLUSTER_EXTENSION } from "../../api/constants.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import type { Problem, ProblemObject } from "../../api/problems.ts";
import { listCertificateSecrets } from "../../certificates/desiredCertificates.ts";
import type { Availability } from "../../release/health/availability.ts";
import { getObjectKey } from "../../release/identity.ts";
import type { LeftObject, ReleaseRecord } from "../../release/record.ts";
import type { HiddenTexts } from "../../render/redaction.ts";
import type { ReleaseHistory } from "../releases/releaseStore.ts";

/** Minimum time in milliseconds between health checks that status changes trigger. */
const HEALTHY_PAUSE_MS = 5_000;
const UNHEALTHY_PAUSE_MS = 1_000;
/**
 * Delay in milliseconds between a change of the CAs that webhooks trust and the check, because such a change may
 * consist of several writes.
 */
const CERTIFICATES_PAUSE_MS = 5_000;
/** Delay in milliseconds before the first check whether objects are deleted. Doubles with each check, up to the maximum. */
const FIRST_DELETION_CHECK_MS = 250;
const LONGEST_DELETION_CHECK_MS = 15_000;

/** Result of the last health check of a release. */
export interface CachedHealth {
  /** Revision of the release. */
  readonly release: number;
  readonly availability: Availability;
  /** Time of the check, in milliseconds since the epoch. */
  readonly readAt: number;
  /** Number of consecutive checks that found it unhealthy. */
  readonly checks: number;
  /** Time of the next check, in milliseconds since the epoch; infinite while it is healthy. */
  dueAt: number;
}

/** State of the certificates that operator-controller issues for an extension. */
interface CachedCertificates {
  /** Revision of the release that was last checked; undefined before the first check and after a failed one. */
  release?: number;
  /** Time of the next check, in milliseconds since the epoch. */
  checkAt: number;
  /** Time of the last change of the trusted CAs, by key of the Secret, in milliseconds since the epoch. */
  readonly trustedSince: Map<string, number>;
}

/** Drift that the controller does not correct. */
interface CachedDrift {
  /** One sentence. */
  readonly text: string;
  readonly object: ProblemObject;
}

/** What Events reported last, so that the same is not reported again. */
interface LastReported {
  /** The preflight result, with its input. */
  preflight?: string;
  /** Image change and ignored constraints of the choice. */
  choice?: string;
  /** Digest of the approved plan. */
  approval?: string;
  /** Unmet requirements of the bundle. */
  requirements?: string;
  /** Mistakes of the bundle. */
  flaws?: string;
  /** Generation whose ServiceAccount has no effect. */
  accountAt?: number;
}

/** State of one extension between reconciles. In memory only; safe to lose on restart. */
export interface ExtensionCacheEntry {
  readonly uid: string;
  /** Time of the last comparison of its objects, or of those that are not watched, in milliseconds since the epoch. */
  checkedAt?: number;
  health?: CachedHealth;
  /** Time of the last comparison of all its objects, in milliseconds since the epoch. */
  comparedAt?: number;
  /** Objects with drift that the controller does not correct, by `getObjectKey`. */
  readonly drifted: Map<string, CachedDrift>;
  readonly certificates: CachedCertificates;
  /**
   * Time of the last check of the ServiceAccount's permissions, and those it lacks, with `spec.install.permissions`
   * Warn.
   */
  permissions?: { checkedAt: number; lacking: Problem | undefined };
  readonly reported: LastReported;
  /** Whether a catalog was unavailable in the last reconcile that resolved a bundle. */
  hasUnavailableCatalogs?: boolean;
  /** The last resolved bundle; empty if resolution failed, undefined before the first one. */
  resolvedBundle?: string;
  /** Time since which the extension waits for the first decision about its permissions, in milliseconds since the epoch. */
  undecidedSince?: number;
  /**
   * The image about which permission-manager has not decided yet: its reference in the catalog, and by digest. The next reconcile uses the same image,
   * even if the tag has moved.
   */
  requestedImage?: { readonly ref: string; readonly canonical: string };
  /** Field manager that last changed its spec or, if it is pinned to a revision, the pin. */
  changedBy?: string | undefined;
  /** Whether its uninstall has begun. Dependents no longer delay it then. */
  uninstalling?: boolean;
  /** Releases of the uninstall in progress, without the content of their objects. */
  uninstalledReleases?: ReleaseHistory;
  /** Objects such as "Deployment ns/x" whose deletion is awaited, since a time in milliseconds since the epoch. */
  awaited?: { readonly objects: ReadonlySet<string>; readonly since: number };
  /** Values from objects in its configuration, which its status and Events must not show. */
  hidden?: HiddenTexts;
  /**
   * Time of the last check of CustomResourceDefinitions that earlier releases left, in milliseconds since the epoch.
   */
  keptCheckedAt?: number;
  /** Whether its ServiceAccount lacked permissions in the last check for a release. */
  lackedPermissions?: boolean;
  /**
   * Whether the last reconcile could not read a release. A change of its release Secrets triggers another reconcile
   * then.
   */
  awaitsReleases?: boolean;
  /**
   * Objects of the last known releases. With foreground deletion, the garbage collector deletes the releases
   * immediately. Afterwards, only this list contains the CustomResourceDefinitions to delete.
   */
  recorded: readonly LeftObject[];
  /** The highest revision in `recorded`; 0 before the first. */
  newestRecorded: number;
}

/** State of all extensions by name. An extension that was recreated under its name starts without state. */
export class ExtensionCache {
  readonly #byName = new Map<string, ExtensionCacheEntry>();

  /** Number of extensions in the cache. */
  get size(): number {
    return this.#byName.size;
  }

  /** Returns the state of an extension; creates it if the extension is new or was recreated. */
  of({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>): ExtensionCacheEntry {
    const known = this.#byName.get(name);
    if (known?.uid === uid) return known;
    const entry: ExtensionCacheEntry = {
      uid,
      drifted: new Map(),
      reported: {},
      recorded: [],
      newestRecorded: 0,
      certificates: { checkAt: 0, trustedSince: new Map() },
    };
    this.#byName.set(name, entry);
    return entry;
  }

  /**
   * Records the objects of these releases. Replaces the recorded objects, unless `keep` is set or the newest known
   * release is missing from `releases`. The controller itself never deletes the newest release. If it is missing, the
   * garbage collector is deleting the releases, possibly before the controller knows that the extension was deleted.
   */
  record(extension: Readonly<ClusterExtension>, releases: readonly ReleaseRecord[], { keep = false }: { keep?: boolean } = {}): void {
    const entry = this.of(extension);
    const newest = Math.max(0, ...releases.map(({ version }) => version));
    const isNewestGone = newest < entry.newestRecorded;
    entry.newestRecorded = Math.max(entry.newestRecorded, newest);
    const refs = releases.flatMap(({ objects, left = [] }): LeftObject[] => [
      ...left,
      ...[...objects, ...listCertificateSecrets(objects)].map(toObjectRef),
    ]);
    const all = keep || isNewestGone ? [...entry.recorded, ...refs] : refs;
    entry.recorded = [...new Map(all.map((ref) => [getObjectKey(ref), ref])).values()];
  }

  /** Adds objects to the recorded ones. Recorded objects do not change. */
  recordMore(extension: Readonly<ClusterExtension>, objects: readonly LeftObject[]): void {
    const entry = this.of(extension);
    entry.recorded = [...new Map([...objects, ...entry.recorded].map((ref) => [getObjectKey(ref), ref])).values()];
  }

  /**
   * Schedules the next check whether objects are deleted. The delay doubles while all of them exist, and starts again
   * when one of them is gone.
   * @param objects the objects to wait for, such as "Deployment ns/x".
   * @param now milliseconds since the epoch.
   * @returns the delay in milliseconds until the check.
   */
  awaitDeletion(extension: Readonly<ClusterExtension>, objects: readonly string[], now: number): number {
    const entry = this.of(extension);
    const found = new Set(objects);
    const before = entry.awaited;
    const isSame = before !== undefined && [...before.objects].every((one) => found.has(one));
    const since = isSame ? Math.min(before.since, now) : now;
    entry.awaited = { objects: found, since };
    return Math.min(FIRST_DELETION_CHECK_MS + now - since, LONGEST_DELETION_CHECK_MS);
  }

  /**
   * Schedules a health check after a change of an object's status: at most every five seconds while the extension is
   * healthy, every second otherwise.
   * @param now milliseconds since the epoch.
   * @returns the delay in milliseconds until the reconcile.
   */
  healthChanged(name: string, now: number): number {
    const health = this.#byName.get(name)?.health;
    if (!health) return 0;
    const pause = health.availability.status === "True" ? HEALTHY_PAUSE_MS : UNHEALTHY_PAUSE_MS;
    health.dueAt = Math.min(health.dueAt, Math.max(now, Math.min(health.readAt, now) + pause));
    return Math.max(health.dueAt - now, 0);
  }

  /**
   * Schedules a check of certificates, at most every five seconds.
   * @param now milliseconds since the epoch.
   * @returns the delay in milliseconds until the reconcile; undefined if there are no certificates.
   */
  certificatesChanged(name: string, now: number): number | undefined {
    const certificates = this.#byName.get(name)?.certificates;
    if (certificates?.release === undefined) return undefined;
    certificates.checkAt = Math.min(certificates.checkAt, now + CERTIFICATES_PAUSE_MS);
    return Math.max(certificates.checkAt - now, 0);
  }

  /** Reports whether a change of its release Secrets must trigger a reconcile of the extension. */
  awaitsReleases(name: string): boolean {
    return this.#byName.get(name)?.awaitsReleases === true;
  }

  /** Reports whether an uninstall of the extension may have begun. */
  isUninstalling(name: string): boolean {
    return this.#byName.get(name)?.uninstalling === true;
  }

  /** Returns the hidden values of the extension `object`; undefined if it is not a known extension. */
  hiddenOf({ kind, metadata: { name, uid = "" } }: KubeObject): HiddenTexts | undefined {
    const known = this.#byName.get(name);
    return kind === CLUSTER_EXTENSION && known?.uid === uid ? known.hidden : undefined;
  }

  forget(name: string): void {
    this.#byName.delete(name);
  }
}
