import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import { replaceStatus } from "../../controller/statusWriter.ts";
import { RetryableError } from "../../errors/errors.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import { formatEnumeration } from "../../resolve/wording.ts";
import type { KnownPlan, PlanMember } from "../state/knownPlan.ts";
import {
  buildCatalogSelector,
  buildDependencyExtension,
  dependentLabel,
  isDependencyExtension,
  isUneditedDependency,
  parseDependents,
} from "./dependencyLabels.ts";
import type { DependencyPlans } from "./dependencyPlans.ts";
import type { Dependents } from "./installContext.ts";

/** Dependencies of DependencyExtensions. */
export interface DependencyExtensionsOptions {
  client: Pick<Client, "create" | "patch" | "delete" | "get">;
  extensions: { list(): readonly ClusterExtension[]; get(name: string): ClusterExtension | undefined };
  dependents: Pick<Dependents, "of" | "listReleased" | "listUnneeded">;
  plans: Pick<DependencyPlans, "find" | "reject">;
  events: EventSink;
}

const FIELD_MANAGER = "operator-controller";

/** Creates ClusterExtensions for policy Install, and deletes them after their last dependent was uninstalled. */
export class DependencyExtensions {
  readonly #options: DependencyExtensionsOptions;

  constructor(options: DependencyExtensionsOptions) {
    this.#options = options;
  }

  /**
   * Stores the plan in the status of its root, then creates the extensions that it needs. Labels existing extensions that were created as
   * dependencies, which keeps them while the root exists.
   * @throws KubeError if the API server denies a request. @throws RetryableError if another extension has taken a name since the plan was made.
   */
  async carryOut(given: ClusterExtension, plan: KnownPlan, signal: AbortSignal): Promise<void> {
    const { client, events, extensions } = this.#options;
    const known = given.status?.dependencyPlan;
    if (known?.digest !== plan.status.digest) {
      const others = plan.status.members.map(({ bundle }) => goQuote(bundle.name));
      const why = plan.replaces === undefined ? "" : `, because the earlier plan is no longer possible: ${plan.replaces}`;
      const written = await replaceStatus(client, given, { ...given.status, dependencyPlan: plan.status });
      if (!written) throw new RetryableError("Retrying", "the extension was deleted or recreated");
      events.record(
        given,
        "Normal",
        "DependencyPlanned",
        `bundle ${goQuote(plan.status.bundle.name)} is installed with ${formatEnumeration(others)}${why}`,
      );
    }
    // In the reconciled extension, the namespace is set even if permission-manager chose it for the parent only.
    const parent = extensions.get(given.metadata.name) ?? given;
    for (const member of plan.status.members) {
      const found = extensions.get(member.extension);
      if (!found) await this.#create(parent, member, signal);
      else {
        await this.#recreateForCatalog(found, member, signal);
        await this.#keepFor(parent, found, signal);
      }
    }
    await this.#releaseAbandoned(parent, signal);
  }

  /** Uninstalls the extensions that a failed plan has created, unless another extension needs them. */
  async abandon(parent: ClusterExtension, plan: KnownPlan, signal: AbortSignal): Promise<void> {
    const created = new Set(plan.status.members.filter((member) => member.created).map((member) => member.extension));
    const released = await this.#options.dependents.listReleased(parent.metadata.name);
    for (const one of this.#listDependencies(parent))
      if (created.has(one.metadata.name)) await this.#releaseOne(parent, one, signal, released.has(one.metadata.name));
  }

  /**
   * Deletes an extension that was created as a dependency, was never edited, has installed nothing, and selects another catalog than that of its planned
   * bundle. The next reconcile creates it again: the controller never changes the spec of an extension.
   */
  async #recreateForCatalog(dependency: ClusterExtension, { catalog }: PlanMember, signal: AbortSignal): Promise<void> {
    const { metadata, spec, status } = dependency;
    const isPlaced = encodeCanonicalJson(spec.source.catalog?.selector ?? {}) === encodeCanonicalJson(buildCatalogSelector(catalog));
    if (!isUneditedDependency(dependency) || status?.install || isPlaced || metadata.deletionTimestamp !== undefined) return;
    await this.#delete(dependency, signal);
  }

  /** Releases the extensions that an earlier plan of `parent` created, that no plan contains, and that have installed nothing. */
  async #releaseAbandoned(parent: ClusterExtension, signal: AbortSignal): Promise<void> {
    for (const one of this.#listDependencies(parent))
      if (!one.status?.install && !this.#options.plans.find(one.metadata.name)) await this.#releaseOne(parent, one, signal);
  }

  /** Releases the extensions that were created for `parent` and that no installed bundle needs any longer. */
  async releaseUnneeded(parent: ClusterExtension, signal: AbortSignal): Promise<void> {
    const dependencies = this.#listRemovable(this.#listDependencies(parent));
    const unneeded = await this.#findUnneeded(dependencies);
    for (const one of dependencies) if (unneeded.has(one.metadata.name)) await this.#releaseOne(parent, one, signal, true);
  }

  /**
   * Returns the extensions that must be reconciled to release a dependency that no installed bundle needs any longer. If the API server does not list
   * its APIs, includes those whose dependencies are still needed: their reconcile retries.
   */
  async listReleasing(): Promise<ReadonlySet<string>> {
    const dependencies = this.#listRemovable(this.#options.extensions.list().filter(isDependencyExtension));
    const unneeded = await this.#findUnneeded(dependencies).catch(() => undefined);
    const releasing = dependencies.filter(({ metadata }) => unneeded?.has(metadata.name) ?? true);
    return new Set(releasing.flatMap((one) => parseDependents(one).map(({ name }) => name)));
  }

  /** Returns the dependencies that are in no plan, and that all their dependents allow to remove with `spec.dependencies.unneeded`. */
  #listRemovable(dependencies: readonly ClusterExtension[]): ClusterExtension[] {
    const { extensions, plans } = this.#options;
    const mayRemove = ({ name, uid }: { name: string; uid: string }): boolean => {
      const found = extensions.get(name);
      return found?.metadata.uid !== uid || found.spec?.dependencies?.unneeded === "Remove";
    };
    return dependencies.filter((one) => parseDependents(one).every(mayRemove) && plans.find(one.metadata.name) === undefined);
  }

  async #findUnneeded(dependencies: readonly ClusterExtension[]): Promise<ReadonlySet<string>> {
    if (dependencies.length === 0) return new Set();
    return this.#options.dependents.listUnneeded(dependencies.map(({ metadata }) => metadata.name));
  }

  /** Returns the extensions that were created as dependencies of `parent`. */
  #listDependencies(parent: ClusterExtension): ClusterExtension[] {
    const label = dependentLabel(parent);
    return this.#options.extensions.list().filter((one) => isDependencyExtension(one) && one.metadata.labels?.[label] !== undefined);
  }

  /**
   * Removes the label of `parent`, which was uninstalled, from the extensions that were created as its dependencies. If
   * another extension needs a dependency, according to a label or its installed bundle, the dependency is kept for this
   * extension. Otherwise it is deleted.
   */
  async release(parent: ClusterExtension, signal: AbortSignal): Promise<void> {
    const dependencies = this.#listDependencies(parent);
    if (dependencies.length === 0) return;
    const released = await this.#options.dependents.listReleased(parent.metadata.name);
    for (const dependency of dependencies) await this.#releaseOne(parent, dependency, signal, released.has(dependency.metadata.name));
  }

  /** @param isUnneeded whether no extension that stays needs the dependency, even if others that are released with it do */
  async #releaseOne(parent: ClusterExtension, dependency: ClusterExtension, signal: AbortSignal, isUnneeded = false): Promise<void> {
    const { name } = dependency.metadata;
    const left = await this.#label(dependency, { [dependentLabel(parent)]: null }, signal);
    if (!left || !isDependencyExtension(left) || left.metadata.deletionTimestamp !== undefined) return;
    const keeper = isUnneeded ? undefined : (this.#findKeeper(left, parent) ?? (await this.#findDependent(left, parent)));
    if (keeper) {
      await this.#keepFor(keeper, left, signal);
      const text = `kept ClusterExtension ${goQuote(name)}, a dependency of this extension, because ClusterExtension ${goQuote(keeper.metadata.name)} needs it`;
      this.#options.events.record(parent, "Normal", "DependencyKept", text);
      return;
    }
    if (!(await this.#delete(left, signal))) return;
    this.#options.events.record(
      parent,
      "Normal",
      "DependencyRemoved",
      `deleted ClusterExtension ${goQuote(name)}, a dependency of this extension, because no other extension needs it`,
    );
  }

  /** Deletes an extension unless it was changed. @returns false if it no longer exists @throws RetryableError if it was changed */
  async #delete(dependency: ClusterExtension, signal: AbortSignal): Promise<boolean> {
    const { name, uid = "", resourceVersion = "" } = dependency.metadata;
    try {
      await this.#options.client.delete(toDependencyRef(dependency), { uid, resourceVersion, signal });
      return true;
    } catch (err) {
      if (isNotFound(err)) return false;
      // Another extension may just have labeled it to keep it.
      if (isConflict(err))
        throw new RetryableError("Retrying", `cannot delete ClusterExtension ${goQuote(name)}: it has been modified`, { cause: err });
      throw err;
    }
  }

  /** Returns an extension that needs the dependency according to a label. */
  #findKeeper(dependency: ClusterExtension, parent: ClusterExtension): ClusterExtension | undefined {
    const others = parseDependents(dependency).filter(({ name }) => name !== parent.metadata.name);
    return others
      .map(({ name, uid }) => ({ found: this.#options.extensions.get(name), uid }))
      .find(({ found, uid }) => found?.metadata.uid === uid)?.found;
  }

  /** Returns an extension whose installed bundle depends on the bundle of the dependency. */
  async #findDependent({ metadata }: ClusterExtension, parent: ClusterExtension): Promise<ClusterExtension | undefined> {
    const dependents = await this.#options.dependents.of(metadata.name);
    if (!dependents)
      throw new RetryableError("Retrying", `cannot determine yet whether other extensions need ClusterExtension ${goQuote(metadata.name)}`);
    const names = dependents.map(({ extension }) => extension).filter((name) => name !== parent.metadata.name);
    return names.map((name) => this.#options.extensions.get(name)).find((found) => found !== undefined);
  }

  async #keepFor(keeper: ClusterExtension, dependency: ClusterExtension, signal: AbortSignal): Promise<void> {
    const { name, uid = "" } = keeper.metadata;
    if (!isDependencyExtension(dependency) || name === dependency.metadata.name) return;
    const label = dependentLabel(keeper);
    if (dependency.metadata.labels?.[label] !== uid) await this.#label(dependency, { [label]: uid }, signal);
  }

  /** Sets labels. @returns the updated extension; undefined if it no longer exists or was recreated. */
  async #label(
    dependency: ClusterExtension,
    labels: Record<string, string | null>,
    signal: AbortSignal,
  ): Promise<ClusterExtension | undefined> {
    const body = { metadata: { uid: dependency.metadata.uid, labels } };
    try {
      return await this.#options.client.patch<ClusterExtension>(toDependencyRef(dependency), body, {
        type: "merge",
        fieldManager: FIELD_MANAGER,
        signal,
      });
    } catch (err) {
      if (isNotFound(err) || isConflict(err)) return undefined;
      throw err;
    }
  }

  async #create(parent: ClusterExtension, member: PlanMember, signal: AbortSignal): Promise<void> {
    const { client, events, plans } = this.#options;
    const { extension: name, packageName, catalog } = member;
    try {
      await client.create(buildDependencyExtension(parent, member), { fieldManager: FIELD_MANAGER, signal });
      const text = `created ClusterExtension ${goQuote(name)} for package ${goQuote(packageName)} from catalog ${goQuote(catalog)}`;
      events.record(parent, "Normal", "DependencyCreated", text);
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      const found = await client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, { signal });
      if (found?.spec?.source?.catalog?.packageName === packageName) return this.#keepFor(parent, found, signal);
      const reason = `an extension of another package uses the name ${goQuote(name)}`;
      plans.reject(parent.metadata.name, reason);
      throw new RetryableError("Retrying", reason, { cause: err });
    }
  }
}

function toDependencyRef({ metadata: { name } }: ClusterExtension): { apiVersion: string; kind: string; name: string } {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
}
