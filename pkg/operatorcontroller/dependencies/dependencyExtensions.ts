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
import { isSubdomain } from "../../api/names.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import type { DependencyNeed } from "../state/phases.ts";
import type { Dependents } from "./installContext.ts";

const HASH_LENGTH = 8;

/** Names for the extension of a package, the first that is free being the one to take: the package's own, and a shortened one that is its alone. */
export function dependencyNames(packageName: string): string[] {
  const hash = createHash("sha256").update(packageName).digest("hex").slice(0, HASH_LENGTH);
  const short = packageName.slice(0, EXTENSION_NAME_MAX - HASH_LENGTH - 1).replace(/[-.]+$/, "");
  return [...(packageName.length <= EXTENSION_NAME_MAX ? [packageName] : []), `${short}-${hash}`];
}

/** Whether an extension may name the package. Catalogs may call packages anything. */
export function canBeNamed(packageName: string): boolean {
  return isSubdomain(packageName);
}

/** The extension that is made for `parent` to meet a need: of the same namespace and identity, unless its template says otherwise. */
export function dependencyExtension(parent: ClusterExtension, { bundle, version }: DependencyNeed, name: string): ClusterExtension {
  const { namespace, serviceAccount, dependencies, approval } = parent.spec;
  const template = dependencies?.template;
  const account = template?.serviceAccount ?? serviceAccount;
  const catalog = bundle.catalog ?? "";
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, labels: { [LABEL_DEPENDENCY]: "true", [dependentLabel(parent)]: parent.metadata.uid ?? "" } },
    spec: {
      namespace: template?.namespace ?? namespace,
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

/** The label by which an extension keeps those that were made for it. */
function dependentLabel({ metadata }: Pick<ClusterExtension, "metadata">): string {
  return `${LABEL_DEPENDENT_PREFIX}${metadata.name}`;
}

/** Names and uids of the extensions that keep `dependency`. */
export function parseDependents({ metadata }: Pick<ClusterExtension, "metadata">): { name: string; uid: string }[] {
  const labels = Object.entries(metadata.labels ?? {});
  return labels.flatMap(([label, uid]) =>
    label.startsWith(LABEL_DEPENDENT_PREFIX) ? [{ name: label.slice(LABEL_DEPENDENT_PREFIX.length), uid }] : [],
  );
}

/** Whether policy Install made the extension, and nobody has taken it over since by removing the label. */
function isDependencyExtension({ metadata }: Pick<ClusterExtension, "metadata">): boolean {
  return metadata.labels?.[LABEL_DEPENDENCY] === "true";
}

/** What making and removing extensions for others needs from the outside. */
export interface DependencyExtensionsOptions {
  client: Pick<Client, "create" | "patch" | "delete" | "get">;
  extensions: { list(): readonly ClusterExtension[]; get(name: string): ClusterExtension | undefined };
  dependents: Pick<Dependents, "of">;
  events: EventSink;
}

/** Longest message of another extension that is repeated. */
const MAX_MESSAGE = 300;
const FIELD_MANAGER = "operator-controller";

/** The ClusterExtensions that policy Install makes for others, from the first that needs one to the last. */
export class DependencyExtensions {
  readonly #options: DependencyExtensionsOptions;

  constructor(options: DependencyExtensionsOptions) {
    this.#options = options;
  }

  /**
   * Sees to it that there is an extension for each need, and that one that was made for others stays as long as `parent` does.
   * @returns what is waited for, one clause each.
   * @throws KubeError when the API server refuses, RetryableError where no name is free.
   */
  async ensure(parent: ClusterExtension, needs: readonly DependencyNeed[], signal: AbortSignal): Promise<string[]> {
    const waiting: string[] = [];
    for (const need of needs) {
      const known = this.#ofPackage(need.bundle.packageName);
      if (known) await this.#keepFor(parent, known, signal);
      waiting.push(waitingText(known ?? (await this.#create(parent, need, signal)), need, known !== undefined));
    }
    return waiting;
  }

  /** What `ensure` would say now, without changing anything. */
  waitingFor(needs: readonly DependencyNeed[]): string {
    return needs.map((need) => waitingText(this.#ofPackage(need.bundle.packageName), need, true)).join("; ");
  }

  /**
   * Lets the extensions go that were made for `parent`, which is gone from the cluster itself: one that an installed bundle needs is handed to
   * that bundle's extension, one that another extension keeps stays, any other is deleted.
   */
  async release(parent: ClusterExtension, signal: AbortSignal): Promise<void> {
    const label = dependentLabel(parent);
    const made = this.#options.extensions.list().filter((one) => isDependencyExtension(one) && one.metadata.labels?.[label] !== undefined);
    for (const dependency of made) await this.#releaseOne(parent, dependency, signal);
  }

  async #releaseOne(parent: ClusterExtension, dependency: ClusterExtension, signal: AbortSignal): Promise<void> {
    const { name } = dependency.metadata;
    const left = await this.#label(dependency, { [dependentLabel(parent)]: null }, signal);
    if (!left || !isDependencyExtension(left) || left.metadata.deletionTimestamp !== undefined) return;
    const keeper = this.#keeperOf(left, parent) ?? (await this.#dependentOn(left, parent));
    if (keeper) {
      await this.#keepFor(keeper, left, signal);
      const text = `ClusterExtension ${goQuote(name)}, made for this one, stays: ClusterExtension ${goQuote(keeper.metadata.name)} needs it`;
      this.#options.events.record(parent, "Normal", "DependencyKept", text);
      return;
    }
    const { uid = "", resourceVersion = "" } = left.metadata;
    try {
      await this.#options.client.delete(refOf(left), { uid, resourceVersion, signal });
    } catch (err) {
      if (isNotFound(err)) return;
      // Whoever has just changed it may be one that keeps it.
      if (isConflict(err))
        throw new RetryableError("Retrying", `ClusterExtension ${goQuote(name)} was changed while it was removed`, { cause: err });
      throw err;
    }
    this.#options.events.record(
      parent,
      "Normal",
      "DependencyRemoved",
      `deleted ClusterExtension ${goQuote(name)}, made for this one: nothing else needs it`,
    );
  }

  /** An extension that keeps the dependency by its label. */
  #keeperOf(dependency: ClusterExtension, parent: ClusterExtension): ClusterExtension | undefined {
    const others = parseDependents(dependency).filter(({ name }) => name !== parent.metadata.name);
    return others
      .map(({ name, uid }) => ({ found: this.#options.extensions.get(name), uid }))
      .find(({ found, uid }) => found?.metadata.uid === uid)?.found;
  }

  /** An extension whose installed bundle depends on what the dependency has installed. */
  async #dependentOn({ metadata }: ClusterExtension, parent: ClusterExtension): Promise<ClusterExtension | undefined> {
    const dependents = await this.#options.dependents.of(metadata.name);
    if (!dependents) throw new RetryableError("Retrying", `whether ClusterExtension ${goQuote(metadata.name)} is needed is not known yet`);
    const names = dependents.map(({ extension }) => extension).filter((name) => name !== parent.metadata.name);
    return names.map((name) => this.#options.extensions.get(name)).find((found) => found !== undefined);
  }

  async #keepFor(keeper: ClusterExtension, dependency: ClusterExtension, signal: AbortSignal): Promise<void> {
    const { name, uid = "" } = keeper.metadata;
    if (!isDependencyExtension(dependency) || name === dependency.metadata.name) return;
    const label = dependentLabel(keeper);
    if (dependency.metadata.labels?.[label] !== uid) await this.#label(dependency, { [label]: uid }, signal);
  }

  /** @returns the extension afterwards; undefined where it is gone, or another one by now. */
  async #label(
    dependency: ClusterExtension,
    labels: Record<string, string | null>,
    signal: AbortSignal,
  ): Promise<ClusterExtension | undefined> {
    const body = { metadata: { uid: dependency.metadata.uid, labels } };
    try {
      return await this.#options.client.patch<ClusterExtension>(refOf(dependency), body, {
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
    for (const name of dependencyNames(packageName)) {
      if (this.#options.extensions.get(name)) continue;
      try {
        const made = await this.#options.client.create(dependencyExtension(parent, need, name), { fieldManager: FIELD_MANAGER, signal });
        const text = `created ClusterExtension ${goQuote(name)} of package ${goQuote(packageName)} from catalog ${goQuote(catalog)}`;
        this.#options.events.record(parent, "Normal", "DependencyCreated", text);
        return made;
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
      `no ClusterExtension can be made for package ${goQuote(packageName)}: its names are taken by others`,
    );
  }

  #ofPackage(packageName: string): ClusterExtension | undefined {
    const found = this.#options.extensions.list().filter(({ spec }) => spec?.source?.catalog?.packageName === packageName);
    return found.sort((a, b) => compareText(a.metadata.name, b.metadata.name))[0];
  }
}

function waitingText(extension: ClusterExtension | undefined, { bundle }: DependencyNeed, existed: boolean): string {
  const name = goQuote(extension?.metadata.name ?? "");
  const packageName = goQuote(bundle.packageName);
  if (!extension || !existed) return `ClusterExtension ${name} of package ${packageName}, which was made for it`;
  const said = findCondition(extension.status?.conditions, ConditionType.Progressing);
  const why = said && said.reason !== "Succeeded" ? `: ${said.reason}: ${truncate(said.message, MAX_MESSAGE)}` : "";
  return `ClusterExtension ${name} of package ${packageName}${why}`;
}

function refOf({ metadata: { name } }: ClusterExtension): { apiVersion: string; kind: string; name: string } {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
}
