import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { systemClock } from "../../pkg/async/clock.ts";
import { KeyedLock } from "../../pkg/async/keyedLock.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import { CatalogBundleIndexes, type KnownBundleIndex } from "../../pkg/operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { CatalogPackages } from "../../pkg/operatorcontroller/catalogs/catalogPackages.ts";
import { CatalogIndexReader } from "../../pkg/operatorcontroller/dependencies/catalogIndexReader.ts";
import { ConstraintCache, loadCelRules } from "../../pkg/operatorcontroller/dependencies/constraintCache.ts";
import { DependencyChoice } from "../../pkg/operatorcontroller/dependencies/dependencyChoice.ts";
import { DependencyPlans } from "../../pkg/operatorcontroller/dependencies/dependencyPlans.ts";
import { HintSearchThread } from "../../pkg/operatorcontroller/dependencies/hintSearch.ts";
import type { Resolution } from "../../pkg/resolve/resolution.ts";
import { filterCandidates } from "../../pkg/resolve/resolve.ts";
import { indexPackages } from "../support/catalogFixture.ts";
import { createCatalog } from "../support/catalogs.ts";
import { createExtension } from "../support/extensions.ts";

/** One measured choice. */
export interface MeasuredChoice {
  readonly seconds: number;
  readonly resolution: Resolution["kind"];
  /** Number of bundles that the plan adds. */
  readonly added: number;
  /** Whether a worker thread searched. */
  readonly inThread: boolean;
}

const SIGNAL = new AbortController().signal;

/** Chooses bundles of one catalog with policy Install, on a cluster without extensions. */
export class DependencyChoices {
  readonly #contents: CatalogPackages;
  readonly #catalog = createCatalog("c", { digest: "quay.io/c@sha256:1", priority: 0, serving: true, labels: {} });
  readonly #constraints = new ConstraintCache(loadCelRules);
  readonly #indexes: CatalogIndexReader;

  constructor(packages: ReadonlyMap<string, PackageContent>) {
    this.#contents = new CatalogPackages({ packageContent: (_base, _ref, name) => Promise.resolve(packages.get(name)) });
    let index: Promise<KnownBundleIndex> | undefined;
    const readIndex = (): Promise<KnownBundleIndex> => (index ??= Promise.resolve(indexPackages(packages.values())));
    this.#indexes = new CatalogIndexReader({
      indexes: new CatalogBundleIndexes({ bundleIndex: readIndex }, systemClock, SIGNAL),
      contents: this.#contents,
      constraints: this.#constraints,
      catalogs: { list: () => [this.#catalog] },
    });
  }

  /** Chooses a bundle of a package. @param version by default any */
  async choose(packageName: string, version?: string): Promise<MeasuredChoice> {
    const base = createExtension(packageName, { packageName, ...(version === undefined ? {} : { version }) });
    const extension: ClusterExtension = { ...base, spec: { ...base.spec, dependencies: { policy: "Install" } } };
    const contents = await this.#contents.read([this.#catalog], packageName, SIGNAL);
    const filtered = filterCandidates({ source: { packageName, ...(version === undefined ? {} : { version }) }, catalogs: contents });
    if (filtered.kind === "unresolved") throw new Error(filtered.message);
    const search = new HintSearchThread(this.#constraints, systemClock);
    const choice = this.#createChoice(search);
    const started = performance.now();
    const { resolution, plan } = await choice.choose(extension, filtered, [this.#catalog], SIGNAL);
    const seconds = (performance.now() - started) / 1_000;
    const inThread = search.isRunning;
    await search.end();
    return { seconds, resolution: resolution.kind, added: (plan?.members.length ?? 1) - 1, inThread };
  }

  #createChoice(search: HintSearchThread): DependencyChoice {
    const releases = { list: () => [], unread: () => [] };
    return new DependencyChoice({
      installContext: {
        isKnown: true,
        hasConstraints: () => Promise.resolve(false),
        read: () => Promise.resolve({ peers: [], own: undefined, served: [] }),
      },
      indexes: this.#indexes,
      constraints: this.#constraints,
      search,
      plans: new DependencyPlans({ extensions: { get: () => undefined }, installed: releases, enqueue: () => undefined }),
      extensions: { list: () => [] },
      lock: new KeyedLock(),
      enqueue: () => undefined,
    });
  }
}
