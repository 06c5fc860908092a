import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { LABEL_DEPENDENCY } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { KeyedLock } from "../../pkg/async/keyedLock.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { CatalogBundleIndexes } from "../../pkg/operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { CatalogPackages } from "../../pkg/operatorcontroller/catalogs/catalogPackages.ts";
import { CatalogIndexReader } from "../../pkg/operatorcontroller/dependencies/catalogIndexReader.ts";
import { ConstraintCache } from "../../pkg/operatorcontroller/dependencies/constraintCache.ts";
import { DependencyChoice } from "../../pkg/operatorcontroller/dependencies/dependencyChoice.ts";
import { DependencyExtensions } from "../../pkg/operatorcontroller/dependencies/dependencyExtensions.ts";
import { listSearchedCatalogs } from "../../pkg/operatorcontroller/dependencies/dependencyLabels.ts";
import { DependencyPlans } from "../../pkg/operatorcontroller/dependencies/dependencyPlans.ts";
import { BlockingHintSearch } from "../../pkg/operatorcontroller/dependencies/hintSearch.ts";
import { Dependents, InstallContextReader } from "../../pkg/operatorcontroller/dependencies/installContext.ts";
import { readCandidates } from "../../pkg/operatorcontroller/reconcile/resolve.ts";
import type { InstalledProvider } from "../../pkg/operatorcontroller/releases/installedReleases.ts";
import { findWaitingError } from "../../pkg/operatorcontroller/state/conditionPoller.ts";
import { toProvider } from "../../pkg/resolve/constraint/parse.ts";
import { indexPackages } from "./catalogFixture.ts";
import { createCatalog } from "./catalogs.ts";
import { type CatalogWorld, packageFrom, propertiesFrom, toApi } from "./dependencyFixture.ts";
import { RecordedEvents } from "./extensionFakes.ts";
import { FakeClock } from "./fakeClock.ts";

/** A bundle in the short form of cases. */
export interface ModelBundle {
  readonly name: string;
  readonly provides?: string[];
  readonly requires?: (string | object)[];
}

/** Packages by name, by name of the catalog. */
export type ModelCatalogs = Record<string, Record<string, ModelBundle[]>>;

/** What an extension did in its last reconcile. */
export type ModelState =
  /** Its bundle is installed, and it waits for nothing. */
  | { readonly kind: "installed" }
  /** Nothing can be installed, for these reasons. */
  | { readonly kind: "rejected"; readonly reasons: readonly string[] }
  | { readonly kind: "waiting"; readonly text: string };

/**
 * A cluster in memory, on which the controller's own code chooses, plans and creates extensions. Reconciles run one at a time, in the order that the
 * test chooses; a bundle is installed when its extension reaches the last stage.
 */
export class PlanModel {
  readonly extensions = new Map<string, ClusterExtension>();
  readonly installed = new Map<string, InstalledProvider>();
  readonly states = new Map<string, ModelState>();
  readonly events = new RecordedEvents();
  /** Returns an error if the installation of a bundle fails. */
  fails: (bundle: string) => string | undefined = () => undefined;
  #catalogs: ModelCatalogs;
  #plans: DependencyPlans;
  #choice: DependencyChoice;
  #created: DependencyExtensions;
  #contents: CatalogPackages;
  #revision = 0;
  #uids = 0;
  readonly #dependents: Dependents;
  readonly #constraints = new ConstraintCache(() => Promise.reject(new Error("the model has no rules")));
  readonly #signal = new AbortController().signal;
  readonly #lookup = {
    list: (): ClusterExtension[] => [...this.extensions.values()],
    get: (name: string): ClusterExtension | undefined => this.extensions.get(name),
  };
  readonly #releases = { list: (): InstalledProvider[] => [...this.installed.values()], unread: () => [] };
  readonly #installContext: InstallContextReader;

  constructor(catalogs: ModelCatalogs, served: readonly string[] = []) {
    this.#catalogs = catalogs;
    const apis = served.map((kind) => ({ gvk: toApi(kind), owner: undefined, resource: "" }));
    const shared = {
      installed: this.#releases,
      constraints: this.#constraints,
      extensions: this.#lookup,
      memory: { isUninstalling: () => false },
    };
    this.#installContext = new InstallContextReader({ ...shared, apis: { served: () => Promise.resolve(apis) } });
    const resources = served.map((kind) => ({ ...toApi(kind), resource: "", namespaced: false }));
    this.#dependents = new Dependents({ ...shared, apis: { resources: () => Promise.resolve(resources as never) } });
    [this.#plans, this.#contents, this.#choice, this.#created] = this.#start();
  }

  /** Replaces the content of the catalogs. */
  serve(catalogs: ModelCatalogs): void {
    this.#catalogs = catalogs;
    this.#revision++;
  }

  /** Forgets everything that the controller keeps in memory. */
  restart(): void {
    [this.#plans, this.#contents, this.#choice, this.#created] = this.#start();
    for (const extension of this.extensions.values()) this.#plans.load(extension);
  }

  #start(): [DependencyPlans, CatalogPackages, DependencyChoice, DependencyExtensions] {
    const ignore = (): void => undefined;
    const plans = new DependencyPlans({ extensions: this.#lookup, installed: this.#releases, enqueue: ignore });
    const read = (base: string): CatalogWorld["packages"] =>
      Object.fromEntries(
        Object.entries(this.#catalogs[base.slice(base.lastIndexOf("/") + 1)] ?? {}).map(([name, bundles]) => [
          name,
          {
            channels: {
              stable: bundles.map((bundle, index) => ({ name: bundle.name, skips: bundles.slice(0, index).map((one) => one.name) })),
            },
            bundles,
          },
        ]),
      );
    const packageOf = (base: string, name: string) => {
      const fixture = read(base)[name];
      return fixture && packageFrom(fixture, name);
    };
    const contents = new CatalogPackages({ packageContent: (base, _ref, name) => Promise.resolve(packageOf(base, name)) });
    const index = (base: string) => indexPackages(Object.entries(read(base)).map(([name, fixture]) => packageFrom(fixture, name)));
    const indexes = new CatalogBundleIndexes({ bundleIndex: index }, new FakeClock(), this.#signal);
    const choice = new DependencyChoice({
      installContext: this.#installContext,
      indexes: new CatalogIndexReader({ indexes, contents, constraints: this.#constraints, catalogs: { list: () => [] } }),
      constraints: this.#constraints,
      search: new BlockingHintSearch(this.#constraints),
      plans,
      extensions: this.#lookup,
      listSearched: (extension, selected) =>
        listSearchedCatalogs(extension, selected, { extensions: this.#lookup, catalogs: { list: () => this.#listCatalogs() } }),
      lock: new KeyedLock(),
      enqueue: ignore,
    });
    const created = new DependencyExtensions({
      client: this.#client(),
      extensions: this.#lookup,
      dependents: this.#dependents,
      plans,
      events: this.events,
    });
    return [plans, contents, choice, created];
  }

  /** Creates an extension as a user. */
  create(extension: ClusterExtension): void {
    this.extensions.set(extension.metadata.name, {
      ...extension,
      metadata: { ...extension.metadata, generation: 1, uid: `uid-${++this.#uids}` },
    });
  }

  /** Installs a bundle without the controller. */
  install(extension: string, bundle: ModelBundle): void {
    const [packageName = "", version = ""] = bundle.name.split(".v");
    const properties = [{ type: "olm.package", value: { packageName, version } }, ...propertiesFrom(bundle)];
    this.installed.set(extension, { ...toProvider({ package: packageName, name: bundle.name, properties }), name: bundle.name, extension });
    this.#setStatus(extension, { install: { bundle: { name: bundle.name, version } } });
  }

  delete(name: string): void {
    const extension = this.extensions.get(name);
    if (extension) this.extensions.set(name, { ...extension, metadata: { ...extension.metadata, deletionTimestamp: "now" } });
  }

  #setStatus(name: string, status: ClusterExtension["status"]): void {
    const extension = this.extensions.get(name);
    if (extension) this.extensions.set(name, { ...extension, status: { ...extension.status, ...status } });
  }

  /** Returns the extensions that were created as dependencies and that no installed bundle needs. */
  async listUnneeded(): Promise<string[]> {
    const created = this.#lookup.list().filter(({ metadata }) => metadata.labels?.[LABEL_DEPENDENCY] === "true");
    return [...(await this.#dependents.listUnneeded(created.map(({ metadata }) => metadata.name)))];
  }

  /** Reconciles one extension. @returns whether anything has changed. */
  async reconcile(name: string): Promise<boolean> {
    const extension = this.extensions.get(name);
    if (!extension) return false;
    const before = this.#describe();
    const state = extension.metadata.deletionTimestamp === undefined ? await this.#advance(extension) : await this.#uninstall(extension);
    if (state) this.states.set(name, state);
    else this.states.delete(name);
    return this.#describe() !== before;
  }

  #describe(): string {
    return JSON.stringify([[...this.extensions], [...this.installed].map(([name, bundle]) => [name, bundle.name]), [...this.states]]);
  }

  async #uninstall(extension: ClusterExtension): Promise<ModelState | undefined> {
    const { name } = extension.metadata;
    const dependents = this.installed.has(name) ? ((await this.#dependents.of(name)) ?? []) : [];
    if (dependents.length > 0) return { kind: "waiting", text: `needed by ${dependents.map((one) => one.extension).join()}` };
    this.installed.delete(name);
    await this.#created.release(extension, this.#signal);
    this.extensions.delete(name);
    this.#choice.forget(name);
    return undefined;
  }

  async #advance(extension: ClusterExtension): Promise<ModelState> {
    const { name } = extension.metadata;
    const source = extension.spec.source.catalog;
    if (!source) throw new Error("no source");
    const catalogs = this.#listCatalogs();
    const own = this.installed.get(name);
    const installed = own && { name: own.name, version: own.name.slice(own.name.indexOf(".v") + 2) };
    const services = { catalogs: { list: () => catalogs }, contents: this.#contents };
    try {
      const { selected, filtered } = await readCandidates(services, { source, installed, cluster: { kind: "none" } }, this.#signal);
      if (filtered.kind === "unresolved") return { kind: "rejected", reasons: [filtered.message] };
      const { resolution, plan, rejected } = await this.#choice.choose(extension, filtered, selected, this.#signal);
      this.#storePlan(name, plan?.root === name ? plan.status : undefined);
      if (resolution.kind === "unresolved") return { kind: "rejected", reasons: rejected?.clauses ?? [resolution.message] };
      if (plan?.root === name) {
        await this.#created.carryOut(this.extensions.get(name) ?? extension, plan, this.#signal);
      }
      const waiting = plan ? this.#plans.listWaiting(name) : [];
      if (waiting.length > 0) return { kind: "waiting", text: waiting.join("; ") };
      const partners = plan ? this.#plans.listPartners(name) : [];
      for (const stage of partners.length > 0 ? (["checked", "defined"] as const) : []) {
        const failure = this.fails(resolution.bundle.name);
        if (failure !== undefined) return { kind: "waiting", text: failure };
        const missing = this.#plans.reach(name, stage);
        if (missing.length > 0) return { kind: "waiting", text: missing.join("; ") };
      }
      if (own?.name === resolution.bundle.name) {
        if (!plan && extension.spec.dependencies?.unneeded === "Remove") await this.#created.releaseUnneeded(extension, this.#signal);
        return { kind: "installed" };
      }
      const failure = this.fails(resolution.bundle.name);
      if (failure !== undefined) return { kind: "waiting", text: failure };
      const owner = this.#findOwner(name, resolution.bundle);
      if (owner !== undefined) return { kind: "rejected", reasons: [owner] };
      const bundle = Object.values(this.#catalogs).flatMap((packages) => Object.values(packages).flat());
      const found = bundle.find((one) => one.name === resolution.bundle.name);
      if (found) this.install(name, found);
      return { kind: "installed" };
    } catch (err) {
      const error = findWaitingError(err);
      if (!error) throw err;
      return { kind: "waiting", text: error.message };
    }
  }

  /** A CustomResourceDefinition belongs to one extension, which gives it up with an upgrade. */
  #findOwner(name: string, { properties }: { readonly properties: readonly Property[] }): string | undefined {
    const kinds = properties.filter(({ type }) => type === "olm.gvk").map(({ value }) => (value as { kind: string }).kind);
    const owner = [...this.installed.values()].find((one) => one.extension !== name && one.apis.some(({ kind }) => kinds.includes(kind)));
    return owner && `${owner.name} provides one of its APIs`;
  }

  #listCatalogs(): ClusterCatalog[] {
    return Object.keys(this.#catalogs).map((catalog) =>
      createCatalog(catalog, {
        digest: `quay.io/${catalog}@sha256:${this.#revision}`,
        priority: 0,
        labels: { "olm.operatorframework.io/metadata.name": catalog },
      }),
    );
  }

  #storePlan(name: string, plan: NonNullable<ClusterExtension["status"]>["dependencyPlan"]): void {
    const extension = this.extensions.get(name);
    if (!extension) return;
    const { dependencyPlan: _before, ...status } = extension.status ?? {};
    // The plan is first stored when it is carried out.
    const stored = extension.status?.dependencyPlan?.digest === plan?.digest ? plan : undefined;
    this.extensions.set(name, { ...extension, status: { ...status, ...(stored ? { dependencyPlan: stored } : {}) } });
  }

  /** The requests of DependencyExtensions. */
  #client(): never {
    const client = {
      create: (object: ClusterExtension) => {
        if (this.extensions.has(object.metadata.name)) throw new Error(`${object.metadata.name} exists`);
        this.create(object);
        return Promise.resolve(this.extensions.get(object.metadata.name));
      },
      get: ({ name }: ObjectRef) => Promise.resolve(this.extensions.get(name)),
      delete: ({ name }: ObjectRef) => {
        this.delete(name);
        return Promise.resolve();
      },
      patch: ({ name }: ObjectRef, body: unknown) => {
        const extension = this.extensions.get(name);
        if (!extension) throw new Error(`${name} does not exist`);
        if (Array.isArray(body)) {
          const [, operation] = body as [unknown, { value: ClusterExtension["status"] }];
          this.extensions.set(name, { ...extension, status: operation.value ?? {} });
        } else {
          const { metadata } = body as { metadata: { labels: Record<string, string | null> } };
          const labels = Object.entries({ ...extension.metadata.labels, ...metadata.labels }).filter(([, value]) => value !== null);
          this.extensions.set(name, {
            ...extension,
            metadata: { ...extension.metadata, labels: Object.fromEntries(labels) as Record<string, string> },
          });
        }
        return Promise.resolve(this.extensions.get(name) as KubeObject);
      },
    };
    return client as never;
  }
}
