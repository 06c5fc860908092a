import { createHash } from "node:crypto";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import {
  API_VERSION,
  CLUSTER_EXTENSION,
  ConditionType,
  EXTENSION_NAME_MAX,
  LABEL_DEPENDENCY,
  LABEL_DEPENDENT_PREFIX,
  LABEL_METADATA_NAME,
} from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import type { DependencyNeed } from "../state/phases.ts";
import type { Dependents } from "./installContext.ts";

const HASH_LENGTH = 8;

/**
 * Returns candidate names for the extension of a package, of which the first free name is used: the package name, then
 * a shortened name with a hash.
 */
export function listDependencyNames(packageName: string): string[] {
  const hash = createHash("sha256").update(packageName).digest("hex").slice(0, HASH_LENGTH);
  const short = packageName.slice(0, EXTENSION_NAME_MAX - HASH_LENGTH - 1).replace(/[-.]+$/, "");
  return [...(packageName.length <= EXTENSION_NAME_MAX ? [packageName] : []), `${short}-${hash}`];
}

/**
 * Returns the extension to create for a dependency of `parent`. It has the namespace and ServiceAccount in the spec of `parent`, unless the template
 * of `parent` overrides them. Without both, permission-manager chooses the namespace for its own bundle.
 */
export function buildDependencyExtension(parent: ClusterExtension, { bundle, version }: DependencyNeed, name: string): ClusterExtension {
  const { serviceAccount, dependencies, approval } = parent.spec;
  const template = dependencies?.template;
  const namespace = template?.namespace ?? parent.spec.namespace;
  const account = template?.serviceAccount ?? serviceAccount;
  const catalog = bundle.catalog ?? "";
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, labels: { [LABEL_DEPENDENCY]: "true", [dependentLabel(parent)]: parent.metadata.uid ?? "" } },
    spec: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(account ? { serviceAccount: account } : {}),
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName: bundle.packageName,
          ...(version === "" ? {} : { version }),
          selector: { matchLabels: { [LABEL_METADATA_NAME]: catalog } },
        },
      },
      dependencies: { policy: "Install", ...(template ? { template } : {}) },
      ...(approval ? { approval } : {}),
    },
  };
}

/** Returns the label that an extension sets on its dependencies to keep them while it exists. */
function dependentLabel({ metadata }: Pick<ClusterExtension, "metadata">): string {
  return `${LABEL_DEPENDENT_PREFIX}${metadata.name}`;
}

/** Returns names and uids of the extensions that need `dependency` according to its labels. */
export function parseDependents({ metadata }: Pick<ClusterExtension, "metadata">): { name: string; uid: string }[] {
  const labels = Object.entries(metadata.labels ?? {});
  return labels.flatMap(([label, uid]) =>
    label.startsWith(LABEL_DEPENDENT_PREFIX) ? [{ name: label.slice(LABEL_DEPENDENT_PREFIX.length), uid }] : [],
  );
}

/**
 * Reports whether policy Install created the extension and the label still exists. Users remove the label to keep the
 * extension.
 */
function isDependencyExtension({ metadata }: Pick<ClusterExtension, "metadata">): boolean {
  return metadata.labels?.[LABEL_DEPENDENCY] === "true";
}

/** Dependencies of DependencyExtensions. */
export interface DependencyExtensionsOptions {
  client: Pick<Client, "create" | "patch" | "delete" | "get">;
  extensions: { list(): readonly ClusterExtension[]; get(name: string): ClusterExtension | undefined };
  dependents: Pick<Dependents, "of">;
  events: EventSink;
}

/** Maximum length of a message quoted from another extension, in characters. */
const MAX_MESSAGE = 300;
const FIELD_MANAGER = "operator-controller";

/** Creates ClusterExtensions for policy Install, and deletes them after their last dependent was uninstalled. */
export class DependencyExtensions {
  readonly #options: DependencyExtensionsOptions;

  constructor(options: DependencyExtensionsOptions) {
    this.#options = options;
  }

  /**
   * Creates an extension for each dependency if none exists. Labels existing extensions that were created as
   * dependencies, which keeps them while `parent` exists.
   * @returns what the extension waits for, one clause each.
   * @throws KubeError if the API server denies a request. @throws RetryableError if no name is free.
   */
  async ensure(given: ClusterExtension, needs: readonly DependencyNeed[], signal: AbortSignal): Promise<string[]> {
    // In the reconciled extension, the namespace is set even if permission-manager chose it for the parent only.
    const parent = this.#options.extensions.get(given.metadata.name) ?? given;
    const waiting: string[] = [];
    for (const need of needs) {
      const known = this.#findByPackage(need.bundle.packageName);
      if (known) await this.#keepFor(parent, known, signal);
      waiting.push(waitingText(known ?? (await this.#create(parent, need, signal)), need, known !== undefined));
    }
    return waiting;
  }

  /** Returns the current text of `ensure` without changing anything. */
  waitingFor(needs: readonly DependencyNeed[]): string {
    return needs.map((need) => waitingText(this.#findByPackage(need.bundle.packageName), need, true)).join("; ");
  }

  /**
   * Removes the label of `parent`, which was uninstalled, from the extensions that were created as its dependencies. If
   * another extension needs a dependency, according to a label or its installed bundle, the dependency is kept for this
   * extension. Otherwise it is deleted.
   */
  async release(parent: ClusterExtension, signal: AbortSignal): Promise<void> {
    const label = dependentLabel(parent);
    const dependencies = this.#options.extensions
      .list()
      .filter((one) => isDependencyExtension(one) && one.metadata.labels?.[label] !== undefined);
    for (const dependency of dependencies) await this.#releaseOne(parent, dependency, signal);
  }

  async #releaseOne(parent: ClusterExtension, dependency: ClusterExtension, signal: AbortSignal): Promise<void> {
    const { name } = dependency.metadata;
    const left = await this.#label(dependency, { [dependentLabel(parent)]: null }, signal);
    if (!left || !isDependencyExtension(left) || left.metadata.deletionTimestamp !== undefined) return;
    const keeper = this.#findKeeper(left, parent) ?? (await this.#findDependent(left, parent));
    if (keeper) {
      await this.#keepFor(keeper, left, signal);
      const text = `kept ClusterExtension ${goQuote(name)}, a dependency of this extension, because ClusterExtension ${goQuote(keeper.metadata.name)} needs it`;
      this.#options.events.record(parent, "Normal", "DependencyKept", text);
      return;
    }
    const { uid = "", resourceVersion = "" } = left.metadata;
    try {
      await this.#options.client.delete(toDependencyRef(left), { uid, resourceVersion, signal });
    } catch (err) {
      if (isNotFound(err)) return;
      // Another extension may just have labeled it to keep it.
      if (isConflict(err))
        throw new RetryableError("Retrying", `cannot delete ClusterExtension ${goQuote(name)}: it has been modified`, { cause: err });
      throw err;
    }
    this.#options.events.record(
      parent,
      "Normal",
      "DependencyRemoved",
      `deleted ClusterExtension ${goQuote(name)}, a dependency of this extension, because no other extension needs it`,
    );
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

  async #create(parent: ClusterExtension, need: DependencyNeed, signal: AbortSignal): Promise<ClusterExtension> {
    const { packageName, catalog = "" } = need.bundle;
    const names = listDependencyNames(packageName);
    for (const name of names) {
      if (this.#options.extensions.get(name)) continue;
      try {
        const created = await this.#options.client.create(buildDependencyExtension(parent, need, name), {
          fieldManager: FIELD_MANAGER,
          signal,
        });
        const text = `created ClusterExtension ${goQuote(name)} for package ${goQuote(packageName)} from catalog ${goQuote(catalog)}`;
        this.#options.events.record(parent, "Normal", "DependencyCreated", text);
        return created;
      } catch (err) {
        if (!isAlreadyExists(err)) throw err;
        const found = await this.#options.client.get<ClusterExtension>(
          { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name },
          { signal },
        );
        if (found?.spec?.source?.catalog?.packageName !== packageName) continue;
        await this.#keepFor(parent, found, signal);
        return found;
      }
    }
    throw new RetryableError(
      "Retrying",
      `cannot create a ClusterExtension for package ${goQuote(packageName)}: extensions of other packages use the names ${names.map(goQuote).join(" and ")}. Create a ClusterExtension for package ${goQuote(packageName)} with another name`,
    );
  }

  #findByPackage(packageName: string): ClusterExtension | undefined {
    const found = this.#options.extensions.list().filter(({ spec }) => spec?.source?.catalog?.packageName === packageName);
    return found.sort((a, b) => compareText(a.metadata.name, b.metadata.name))[0];
  }
}

function waitingText(extension: ClusterExtension | undefined, { bundle }: DependencyNeed, existed: boolean): string {
  const name = goQuote(extension?.metadata.name ?? "");
  const packageName = goQuote(bundle.packageName);
  if (!extension || !existed) return `ClusterExtension ${name} (package ${packageName}), created as a dependency`;
  const progressing = findCondition(extension.status?.conditions, ConditionType.Progressing);
  const why =
    progressing && progressing.reason !== "Succeeded" ? `: ${progressing.reason}: ${truncate(progressing.message, MAX_MESSAGE)}` : "";
  return `ClusterExtension ${name} (package ${packageName})${why}`;
}

function toDependencyRef({ metadata: { name } }: ClusterExtension): { apiVersion: string; kind: string; name: string } {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
}
