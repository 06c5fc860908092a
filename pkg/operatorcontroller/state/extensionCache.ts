import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { CLUSTER_EXTENSION } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import type { Problem, ProblemObject } from "../../api/problems.ts";
import { certificateSecrets } from "../../certificates/wantedCertificates.ts";
import type { Availability } from "../../release/health/availability.ts";
import { objectKey } from "../../release/identity.ts";
import type { LeftObject, ReleaseRecord } from "../../release/record.ts";
import type { HiddenTexts } from "../../render/redaction.ts";

/** Least time between two readings of health that changes of status ask for. */
const HEALTHY_PAUSE_MS = 5_000;
const ILL_PAUSE_MS = 1_000;
/** From a change of what webhooks trust to the look at it; others may have written it in several steps. */
const CERTIFICATES_PAUSE_MS = 5_000;

/** What a release was last found to be. */
export interface CachedHealth {
  /** Its number. */
  readonly release: number;
  readonly availability: Availability;
  /** When it was read, in milliseconds since the epoch. */
  readonly readAt: number;
  /** How many checks in a row did not find it healthy. */
  readonly checks: number;
  /** When to read it again, in milliseconds since the epoch; infinite while it is healthy. */
  dueAt: number;
}

/** What is known of the certificates that operator-controller provides for an extension. */
interface CachedCertificates {
  /** Number of the release for which they were last looked at; undefined before the first time. */
  release?: number;
  /** When to look again, in milliseconds since the epoch. */
  checkAt: number;
  /** When what is trusted was last changed, by key of the Secret; milliseconds since the epoch. */
  readonly trustedSince: Map<string, number>;
}

/** Drift that the controller does not revert. */
interface CachedDrift {
  /** One sentence. */
  readonly text: string;
  readonly object: ProblemObject;
}

/** What is remembered of one extension between passes. A controller that has just started knows none of it and is as right without. */
export interface ExtensionCacheEntry {
  readonly uid: string;
  /** When its objects, or those that are not watched, were last compared with the cluster; milliseconds since the epoch. */
  checkedAt?: number;
  health?: CachedHealth;
  /** When all of its objects were. */
  comparedAt?: number;
  /** Objects that have drifted and that the controller does not revert, by `objectKey`. */
  readonly drifted: Map<string, CachedDrift>;
  readonly certificates: CachedCertificates;
  /** When the permissions of its ServiceAccount were last read, and what they lacked, with `spec.install.permissions` Warn. */
  rights?: { checkedAt: number; lacking: Problem | undefined };
  /** What was last told about the checks before a release, and about which input. */
  told?: string;
  /** Whether some catalog could not be asked in the last pass that resolved a bundle. */
  missesCatalogs?: boolean;
  /** What was last told about the choice of a bundle. */
  decided?: string;
  /** What resolution last came to, empty where it came to nothing; undefined before the first time. */
  choice?: string;
  /** Digest of the approved plan that was last told. */
  approved?: string;
  /** What its bundle wants of the cluster in vain, as it was last told. */
  unmet?: string;
  /** What is wrong with its bundle, as it was last told. */
  flawed?: string;
  /** Its uninstall has begun: what others need of it does not hold that up any more. */
  uninstalling?: boolean;
  /** What is shown neither in its status nor in its Events, since it came from objects that its configuration names. */
  hidden?: HiddenTexts;
  /** When the CustomResourceDefinitions that earlier releases left were last checked; milliseconds since the epoch. */
  keptCheckedAt?: number;
  /** Whether its ServiceAccount lacked rights when they were last looked up for a release. */
  lacked?: boolean;
  /** Some release could not be read in the last pass: a change of the extension's release Secrets asks for another. */
  awaitsReleases?: boolean;
  /**
   * The objects of the releases that were last seen. A deletion in the foreground makes the garbage collector delete the releases at once,
   * which would leave nothing to tell which CustomResourceDefinitions have to be looked after.
   */
  recorded: readonly LeftObject[];
  /** The highest version of the releases in `recorded`; 0 before the first. */
  newestRecorded: number;
}

/** What is remembered of the extensions there are, by name; one that was made anew under its name starts with nothing. */
export class ExtensionCache {
  readonly #byName = new Map<string, ExtensionCacheEntry>();

  /** How many extensions are remembered. */
  get size(): number {
    return this.#byName.size;
  }

  of({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>): ExtensionCacheEntry {
    const known = this.#byName.get(name);
    if (known?.uid === uid) return known;
    const fresh: ExtensionCacheEntry = {
      uid,
      drifted: new Map(),
      recorded: [],
      newestRecorded: 0,
      certificates: { checkAt: 0, trustedSince: new Map() },
    };
    this.#byName.set(name, fresh);
    return fresh;
  }

  /**
   * Remembers the objects of these releases in place of those before, or in addition to them. They are kept as well if the newest known release is
   * not among `releases`: the controller deletes only older ones, so the garbage collector is deleting them, and the controller may not know yet
   * that the extension is deleted.
   */
  record(extension: Readonly<ClusterExtension>, releases: readonly ReleaseRecord[], { keep = false }: { keep?: boolean } = {}): void {
    const remembered = this.of(extension);
    const newest = Math.max(0, ...releases.map(({ version }) => version));
    const isNewestGone = newest < remembered.newestRecorded;
    remembered.newestRecorded = Math.max(remembered.newestRecorded, newest);
    const refs = releases.flatMap(({ objects, left = [] }): LeftObject[] => [
      ...left,
      ...[...objects, ...certificateSecrets(objects)].map(refOf),
    ]);
    const all = keep || isNewestGone ? [...remembered.recorded, ...refs] : refs;
    remembered.recorded = [...new Map(all.map((ref) => [objectKey(ref), ref])).values()];
  }

  /**
   * Makes a pass over an extension read its health, but not so often as a status may change: at most every five seconds while it is healthy,
   * every second while it is not.
   * @param now milliseconds since the epoch.
   * @returns in how many milliseconds that pass is due.
   */
  healthChanged(name: string, now: number): number {
    const health = this.#byName.get(name)?.health;
    if (!health) return 0;
    const pause = health.availability.status === "True" ? HEALTHY_PAUSE_MS : ILL_PAUSE_MS;
    health.dueAt = Math.min(health.dueAt, Math.max(now, Math.min(health.readAt, now) + pause));
    return Math.max(health.dueAt - now, 0);
  }

  /**
   * Makes a pass over an extension look at its certificates, but not more often than every five seconds.
   * @param now milliseconds since the epoch.
   * @returns in how many milliseconds that pass is due; undefined where there are none to look at.
   */
  certificatesChanged(name: string, now: number): number | undefined {
    const certificates = this.#byName.get(name)?.certificates;
    if (certificates?.release === undefined) return undefined;
    certificates.checkAt = Math.min(certificates.checkAt, now + CERTIFICATES_PAUSE_MS);
    return Math.max(certificates.checkAt - now, 0);
  }

  /** Whether a change of the release Secrets of the extension of that name asks for a pass. */
  awaitsReleases(name: string): boolean {
    return this.#byName.get(name)?.awaitsReleases === true;
  }

  /** Whether objects of the extension of that name are being removed, or may be. */
  isUninstalling(name: string): boolean {
    return this.#byName.get(name)?.uninstalling === true;
  }

  /** What is not shown of the extension that `object` is; undefined where it is none. */
  hiddenOf({ kind, metadata: { name, uid = "" } }: KubeObject): HiddenTexts | undefined {
    const known = this.#byName.get(name);
    return kind === CLUSTER_EXTENSION && known?.uid === uid ? known.hidden : undefined;
  }

  forget(name: string): void {
    this.#byName.delete(name);
  }
}
