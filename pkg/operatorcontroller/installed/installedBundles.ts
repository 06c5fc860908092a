import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type Clock, systemClock } from "../../controller/clock.ts";
import type { Informer } from "../../controller/informer.ts";
import { canonicalJson } from "../../fbc/canonical.ts";
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
 * controller knows of their releases anyway, so that asking costs no request.
 */
export class InstalledBundles {
  readonly #options: InstalledBundlesOptions;
  readonly #clock: Clock;
  readonly #handlers: (() => void)[] = [];
  /** By uid of the extension: what was known last stays while a newer version of its Secret is being read. */
  #known = new Map<string, InstalledProvider>();
  #unread: string[] = [];
  #unreadable = new Map<string, string>();
  #isOutdated = true;
  #isTold = true;

  constructor(options: InstalledBundlesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    options.releases.onChange(() => this.#outdate());
    options.extensions.onEvent(({ type, object, old }) => {
      if (type !== "update" || old?.metadata.uid !== object.metadata.uid) this.#outdate();
    });
  }

  /** Calls `handler` soon after every change of what the others give; changes at the same time are told once. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** One for each extension that has something installed, by name of the extension. Read-only: it is shared with everybody. */
  list(): readonly InstalledProvider[] {
    this.#refresh();
    return [...this.#known.values()];
  }

  /** Names of the extensions whose releases are being read for the first time: what they have installed is not in `list` yet. */
  unread(): readonly string[] {
    this.#refresh();
    return this.#unread;
  }

  /** Why the releases of an extension cannot be read, by its name; what was known of them before is in `list`. */
  unreadable(): ReadonlyMap<string, string> {
    this.#refresh();
    return this.#unreadable;
  }

  #outdate(): void {
    this.#isOutdated = true;
    if (!this.#isTold) return;
    this.#isTold = false;
    const before = [...this.#known.values()];
    const [unread, unreadable] = [this.#unread.length, this.#unreadable.size];
    this.#clock.after(COALESCE_MS, () => {
      this.#isTold = true;
      this.#refresh();
      const after = [...this.#known.values()];
      const same = after.length === before.length && after.every((one, i) => one === before[i]);
      if (same && unread === this.#unread.length && unreadable === this.#unreadable.size) return;
      for (const handler of this.#handlers) handler();
    });
  }

  #refresh(): void {
    if (!this.#isOutdated) return;
    this.#isOutdated = false;
    const before = this.#known;
    this.#known = new Map();
    this.#unread = [];
    this.#unreadable = new Map();
    const all = this.#options.extensions.list().map(({ metadata: { name, uid = "" } }) => ({ name, uid }));
    for (const { name, uid } of all.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const state = this.#options.releases.providedBy({ name, uid });
      const last = before.get(uid);
      if (state.kind === "installed") this.#known.set(uid, last && isOf(last, state.bundle) ? last : { ...state.bundle, extension: name });
      else if (state.kind === "unknown") {
        if (last) this.#known.set(uid, last);
        if (state.because !== undefined) this.#unreadable.set(name, state.because);
        else if (!last) this.#unread.push(name);
      }
    }
  }
}

/** Whether `known` says what `bundle` does: a release is written several times with the same in it. */
function isOf(known: InstalledProvider, bundle: ProvidedBundle): boolean {
  return known.properties === bundle.properties || canonicalJson(known) === canonicalJson({ ...bundle, extension: known.extension });
}
