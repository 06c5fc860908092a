import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import type { Informer } from "../../controller/informer.ts";
import { canonicalJson } from "../../golang/json.ts";
import type { ProvidedBundle } from "../../release/providedBundle.ts";
import type { InstalledReleases } from "./installedReleases.ts";

/** A bundle that an extension has installed, as others see it that may depend on it. */
export interface InstalledProvider extends ProvidedBundle {
  /** Name of the ClusterExtension. */
  readonly extension: string;
}

/** What InstalledBundles is built from. */
export interface InstalledBundlesOptions {
  extensions: Pick<Informer<ClusterExtension>, "list" | "onEvent">;
  releases: Pick<InstalledReleases, "providedBy" | "onChange">;
  clock?: Clock;
}

/** Changes within this time are told together. */
const COALESCE_MS = 200;

/**
 * What all extensions of the cluster have installed: the bundle of the last release of each that was applied completely. Made of what the
 * controller knows of their releases anyway, so that asking costs no request. After a change, only the changed extension is read again.
 */
export class InstalledBundles {
  readonly #options: InstalledBundlesOptions;
  readonly #clock: Clock;
  readonly #handlers: (() => void)[] = [];
  /** By name of the extension: what was known last stays while a newer version of its Secret is being read. */
  readonly #known = new Map<string, { uid: string; provider: InstalledProvider }>();
  /** Uids of all extensions, by name. */
  #extensions = new Map<string, string>();
  readonly #unread = new Set<string>();
  readonly #unreadable = new Map<string, string>();
  /** Names of the changed extensions; undefined: all of them. */
  #outdated: Set<string> | undefined;
  /** Of `#known`, by name; undefined when it has changed. */
  #list: readonly InstalledProvider[] | undefined = [];
  #isTold = true;

  constructor(options: InstalledBundlesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    options.releases.onChange((extension) => this.#outdate(extension));
    options.extensions.onEvent(({ type, object: { metadata }, old }) => {
      if (type === "update" && old?.metadata.uid === metadata.uid) return;
      if (type === "delete") this.#extensions.delete(metadata.name);
      else this.#extensions.set(metadata.name, metadata.uid ?? "");
      this.#outdate(metadata.name);
    });
  }

  /** Calls `handler` soon after every change of what the others give; changes at the same time are told once. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** One for each extension that has something installed, by name of the extension. Read-only: it is shared with everybody. */
  list(): readonly InstalledProvider[] {
    this.#refresh();
    return (this.#list ??= [...this.#known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { provider }]) => provider));
  }

  /** Names of the extensions whose releases are being read for the first time: what they have installed is not in `list` yet. */
  unread(): readonly string[] {
    this.#refresh();
    return [...this.#unread].sort();
  }

  /** Why the releases of an extension cannot be read, by its name; what was known of them before is in `list`. */
  unreadable(): ReadonlyMap<string, string> {
    this.#refresh();
    return this.#unreadable;
  }

  #outdate(extension: string | undefined): void {
    if (extension === undefined) this.#outdated = undefined;
    else this.#outdated?.add(extension);
    if (!this.#isTold) return;
    this.#isTold = false;
    const before = this.#list;
    const [unread, unreadable] = [this.#unread.size, this.#unreadable.size];
    this.#clock.after(COALESCE_MS, () => {
      this.#isTold = true;
      if (this.list() === before && unread === this.#unread.size && unreadable === this.#unreadable.size) return;
      for (const handler of this.#handlers) handler();
    });
  }

  /** Reads the changed extensions again. */
  #refresh(): void {
    const outdated = this.#outdated;
    if (outdated?.size === 0) return;
    this.#outdated = new Set();
    if (outdated === undefined) {
      const all = this.#options.extensions.list();
      this.#extensions = new Map(all.map(({ metadata: { name, uid = "" } }) => [name, uid]));
    }
    for (const name of outdated ??
      new Set([...this.#known.keys(), ...this.#unread, ...this.#unreadable.keys(), ...this.#extensions.keys()]))
      this.#refreshOne(name);
  }

  #refreshOne(name: string): void {
    const uid = this.#extensions.get(name);
    this.#unread.delete(name);
    this.#unreadable.delete(name);
    const known = this.#known.get(name);
    const last = known?.uid === uid ? known?.provider : undefined;
    const state = uid === undefined ? undefined : this.#options.releases.providedBy({ name, uid });
    let provider: InstalledProvider | undefined;
    if (state?.kind === "installed") provider = last && isOf(last, state.bundle) ? last : { ...state.bundle, extension: name };
    else if (state?.kind === "unknown") {
      provider = last;
      if (state.because !== undefined) this.#unreadable.set(name, state.because);
      else if (!last) this.#unread.add(name);
    }
    if (provider === known?.provider) return;
    this.#list = undefined;
    if (provider && uid !== undefined) this.#known.set(name, { uid, provider });
    else this.#known.delete(name);
  }
}

/** Whether `known` says what `bundle` does: a release is written several times with the same in it. */
function isOf(known: InstalledProvider, bundle: ProvidedBundle): boolean {
  return known.properties === bundle.properties || canonicalJson(known) === canonicalJson({ ...bundle, extension: known.extension });
}
