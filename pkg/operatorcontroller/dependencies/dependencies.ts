import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType } from "../../api/constants.ts";
import { systemClock } from "../../async/clock.ts";
import { KeyedLock } from "../../async/keyedLock.ts";
import type { Informer } from "../../controller/informer.ts";
import { KeyedTimers } from "../../controller/workQueue.ts";
import { type BundleIndexReader, CatalogBundleIndexes } from "../catalogs/catalogBundleIndexes.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import type { InstalledBundles } from "../releases/installedReleases.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { CatalogIndexReader } from "./catalogIndexReader.ts";
import type { ClusterApis } from "./clusterApis.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";
import { DependencyChoice } from "./dependencyChoice.ts";
import { DependencyExtensions, type DependencyExtensionsOptions } from "./dependencyExtensions.ts";
import { listSearchedCatalogs } from "./dependencyLabels.ts";
import { DependencyPlans } from "./dependencyPlans.ts";
import { HintSearchThread } from "./hintSearch.ts";
import { Dependents, InstallContextReader } from "./installContext.ts";

/** What the dependency services need. */
export interface DependenciesOptions extends Pick<DependencyExtensionsOptions, "client" | "events"> {
  extensions: Pick<Informer<ClusterExtension>, "list" | "get" | "onEvent">;
  installed: Pick<InstalledBundles, "list" | "unread" | "onChange">;
  apis: Pick<ClusterApis, "served" | "resources" | "onChange">;
  memory: Pick<ExtensionCache, "isUninstalling">;
  contents: CatalogPackages;
  catalogs: Pick<Informer<ClusterCatalog>, "list">;
  reader: BundleIndexReader;
  /** Enqueues an extension. */
  enqueue: (extension: string) => void;
}

/**
 * Delay in milliseconds between the change of a CRD and the check of the served APIs. The API server serves the change
 * within two seconds.
 */
const SERVED_MS = 2_000;

/** The services of one controller that check and install bundle dependencies. */
export class Dependencies {
  readonly choice: DependencyChoice;
  readonly created: DependencyExtensions;
  readonly plans: DependencyPlans;
  readonly dependents: Dependents;
  readonly indexes: CatalogBundleIndexes;
  readonly #search: HintSearchThread;
  readonly #stop = new AbortController();

  constructor({ client, events, extensions, installed, apis, memory, contents, catalogs, reader, enqueue }: DependenciesOptions) {
    const constraints = new ConstraintCache(loadCelRules);
    this.indexes = new CatalogBundleIndexes(reader, systemClock, this.#stop.signal);
    const installContext = new InstallContextReader({ installed, apis, constraints, extensions, memory });
    this.dependents = new Dependents({ extensions, installed, apis, constraints, memory });
    this.plans = new DependencyPlans({ extensions, installed, enqueue });
    this.#search = new HintSearchThread(constraints, systemClock);
    this.choice = new DependencyChoice({
      installContext,
      indexes: new CatalogIndexReader({ indexes: this.indexes, contents, constraints, catalogs }),
      constraints,
      search: this.#search,
      plans: this.plans,
      extensions,
      listSearched: (extension, selected) => listSearchedCatalogs(extension, selected, { extensions, catalogs }),
      lock: new KeyedLock(),
      enqueue,
    });
    this.created = new DependencyExtensions({ client, extensions, dependents: this.dependents, plans: this.plans, events });
    const soon = new KeyedTimers(systemClock, () => {
      for (const name of this.choice.waiting) enqueue(name);
    });
    installed.onChange(() => {
      soon.set("installed", 0);
      // The reconcile of an upgrade may end before the watch reports its release, and another extension may have needed the dependency until now.
      void this.created.listReleasing().then((names) => names.forEach(enqueue));
    });
    apis.onChange(() => soon.set("served", SERVED_MS));
    extensions.onEvent(({ type, object, old }) => {
      const root = this.plans.find(object.metadata.name)?.root;
      if (root !== undefined && isAvailable(object) !== (old !== undefined && isAvailable(old))) enqueue(root);
      // The spec of an extension limits which bundles a plan may contain.
      if (type !== "update" || old?.metadata.generation !== object.metadata.generation) {
        this.#search.cancel(object.metadata.name);
        soon.set("extensions", 0);
      }
      if (type === "delete") this.choice.forget(object.metadata.name);
      else if (object.spec?.dependencies?.policy === "Install") this.plans.load(object);
      else this.plans.remove(object.metadata.name);
    });
  }

  /** Aborts reads and searches in progress. */
  close(): void {
    this.#stop.abort();
    void this.#search.end();
  }
}

function isAvailable({ status }: ClusterExtension): boolean {
  return findCondition(status?.conditions, ConditionType.Available)?.status === "True";
}
