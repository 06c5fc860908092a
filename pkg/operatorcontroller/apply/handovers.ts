import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { objectKey } from "../../release/identity.ts";

/** An object that a release needs and another extension owns. */
export interface Need {
  /** As it is to be applied. */
  readonly object: KubeObject;
  /** Name of the extension that owns it. */
  readonly owner: string;
}

/**
 * How far the release is that an extension aims at:
 * blocked: something else than the objects of other extensions keeps it from being applied, or it is still being checked;
 * ready: only objects of other extensions are missing; writing: it has begun; settled: it is deployed.
 */
type Progress = "blocked" | "ready" | "writing" | "settled";

interface Aim {
  readonly uid: string;
  /** What the release holds that the extension aims at. */
  readonly keys: ReadonlySet<string>;
  /** What its deployed release holds. */
  readonly deployed: ReadonlySet<string>;
  progress: Progress;
  /** Owners of what it needs, by key of the object. */
  needs: ReadonlyMap<string, string>;
}

const NOTHING: ReadonlySet<string> = new Set();

/**
 * Decides which object an extension may take from another one, from what each extension aims at. An owner agrees to give an object up when the
 * release that it aims at does not contain the object, and nothing but such agreements keeps that release from being applied. Extensions
 * that exchange objects in a ring therefore all agree, and any of them may begin.
 * In-memory only. Safe to lose on restart: an owner whose aim is not known does not agree.
 */
export class Handovers {
  readonly #existing: () => readonly Readonly<ClusterExtension>[];
  readonly #aims = new Map<string, Aim>();
  /** Uids of the extensions whose aim is known, or that have none, by name. */
  readonly #seen = new Map<string, string>();

  /** @param existing the extensions of the cluster as they are known now. */
  constructor(existing: () => readonly Readonly<ClusterExtension>[]) {
    this.#existing = existing;
  }

  /** Notes the release that a pass aims at, before anything of it is checked. */
  aim({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, desired: readonly KubeObject[], deployed: readonly KubeObject[]): void {
    const keys = new Set(desired.map(objectKey));
    const before = this.#aims.get(name);
    const isSame = before?.uid === uid && before.keys.size === keys.size && [...keys].every((key) => before.keys.has(key));
    const isReady = isSame && before.progress === "ready";
    const needs = isReady ? before.needs : new Map<string, string>();
    this.#aims.set(name, { uid, keys, deployed: new Set(deployed.map(objectKey)), progress: isReady ? "ready" : "blocked", needs });
    this.#seen.set(name, uid);
  }

  /** Notes that the deployed release is the one that the extension aims at. */
  settle({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, deployed: readonly KubeObject[]): void {
    const keys = new Set(deployed.map(objectKey));
    this.#aims.set(name, { uid, keys, deployed: keys, progress: "settled", needs: new Map() });
    this.#seen.set(name, uid);
  }

  /** Notes what is deployed where nothing better is known, such as after a restart without catalogs. */
  assume(extension: Readonly<ClusterExtension>, deployed: readonly KubeObject[]): void {
    const { name, uid = "" } = extension.metadata;
    if (this.#aims.get(name)?.uid !== uid) this.settle(extension, deployed);
  }

  /** Notes that a release can be applied except for what it needs of other extensions. */
  ready(name: string, needs: readonly Need[]): void {
    const aim = this.#aims.get(name);
    if (!aim) return;
    aim.progress = "ready";
    aim.needs = new Map(needs.map(({ object, owner }) => [objectKey(object), owner]));
  }

  /** Notes that a release begins. */
  writing(name: string): void {
    this.#progress(name, "writing");
  }

  /** Notes that a release cannot be applied now. */
  blocked(name: string): void {
    this.#progress(name, "blocked");
  }

  /**
   * Notes that a pass has ended.
   * @param isAimed whether it came as far as the release that the extension aims at; what was ready before is not, otherwise.
   * @param isKnown whether it came far enough to tell that there is none.
   */
  passed({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, isAimed: boolean, isKnown: boolean): void {
    if (isKnown) this.#seen.set(name, uid);
    if (!isAimed && this.#aims.get(name)?.progress === "ready") this.blocked(name);
  }

  /** Drops what is known of an extension that is gone. */
  forget(name: string): void {
    this.#aims.delete(name);
    this.#seen.delete(name);
  }

  /** Whether the owner aims at a release without that object. */
  excludes(owner: string, object: KubeObject): boolean {
    const aim = this.#aims.get(owner);
    return aim !== undefined && !aim.keys.has(objectKey(object));
  }

  /** Whether the owner has left that object behind: its release without the object has begun or is deployed. */
  hasLeft(owner: string, object: KubeObject): boolean {
    const progress = this.#aims.get(owner)?.progress;
    return this.excludes(owner, object) && (progress === "settled" || progress === "writing");
  }

  /** Whether every owner of what the extension needs agrees to give it up: the largest set of ready extensions that need one another only. */
  agreed(name: string): boolean {
    const able = new Set([...this.#aims].flatMap(([one, { progress }]) => (progress === "ready" ? [one] : [])));
    for (let before = -1; before !== able.size; ) {
      before = able.size;
      for (const one of able) {
        const needs = this.#aims.get(one)?.needs ?? [];
        if (![...needs].every(([key, owner]) => this.#gives(owner, key, able))) able.delete(one);
      }
    }
    return able.has(name);
  }

  /**
   * Whether an object that its owner no longer contains stays for another extension: one that aims at it or has it deployed. While not every extension
   * is known after a restart, an object of the cluster stays as well.
   */
  isWanted(owner: string, object: KubeObject): boolean {
    const key = objectKey(object);
    for (const [name, { keys, deployed }] of this.#aims) if (name !== owner && (keys.has(key) || deployed.has(key))) return true;
    return refOf(object).namespace === undefined && !this.#isComplete();
  }

  /** Whether another extension has deployed a release that contains that object. */
  isSettledOn(owner: string, object: KubeObject): boolean {
    const key = objectKey(object);
    return [...this.#aims].some(([name, { keys, progress }]) => name !== owner && progress === "settled" && keys.has(key));
  }

  #gives(owner: string, key: string, able: ReadonlySet<string>): boolean {
    const { keys = NOTHING, progress } = this.#aims.get(owner) ?? {};
    return progress !== undefined && progress !== "blocked" && !keys.has(key) && (progress !== "ready" || able.has(owner));
  }

  #isComplete(): boolean {
    return this.#existing().every(({ metadata: { name, uid } }) => this.#seen.get(name) === uid);
  }

  #progress(name: string, progress: Progress): void {
    const aim = this.#aims.get(name);
    if (aim) aim.progress = progress;
  }
}
