import { setTimeout as sleep } from "node:timers/promises";
import { findCondition } from "../api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { Condition, JsonObject, KubeObject, ObjectRef } from "../api/k8s.ts";
import { type PollAnswer, waitFor } from "../async/poll.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isNamespaceMissing, KubeError } from "../kube/errors.ts";
import { formatRepository } from "../oci/reference.ts";
import { mergeValues } from "../render/configSources.ts";
import type { CatalogQuery, ContentReader } from "./catalogContent.ts";
import type { TableCatalog } from "./catalogTable.ts";
import { findMismatch } from "./expectations.ts";
import { type ImageRepository, ScenarioImages } from "./scenarioImages.ts";
import { LABEL_CONFORMANCE, LABEL_SCENARIO, ScenarioNames } from "./scenarioNames.ts";
import type { DefinitionVersions } from "./tableBundle.ts";

/** What scenarios run on. */
export interface ConformanceCluster extends ImageRepository {
  readonly client: Client;
  readonly content: ContentReader;
  /** Namespace of the servers. Their ServiceAccounts may create tokens of the ServiceAccounts of the scenarios. */
  readonly systemNamespace: string;
  /** Name of the run, unique among concurrent runs. */
  readonly run: string;
  /** Maximum time of each step, in milliseconds. */
  readonly timeoutMs: number;
}

/** The parts of a scenario that its steps need. */
export interface ScenarioSetup {
  readonly id: string;
  readonly catalogs: ReadonlyMap<string, TableCatalog>;
  readonly definitions: DefinitionVersions;
}

/** An expected condition; `includes` are parts of its message. */
export interface ExpectedCondition {
  /** Name of a catalog in the scenario; undefined for the extension. */
  readonly catalog?: string | undefined;
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly includes?: readonly string[] | undefined;
}

const FIELD_MANAGER = "olmv1-conformance";
const INSTALLER = "installer";
const FIRST_TAG = "v1";
/** How long something must stay unchanged, in milliseconds: several reconciles of a controller that retries. */
const SETTLE_MS = 4_000;
const EVERY_MS = 500;
const RBAC = "rbac.authorization.k8s.io/v1";

/** Runs the steps of one scenario. Every object that it creates has the label of the run. */
export class ScenarioRun {
  readonly names: ScenarioNames;
  readonly #cluster: ConformanceCluster;
  readonly #scenario: ScenarioSetup;
  readonly #images: ScenarioImages;
  readonly #signal: AbortSignal;
  /** Objects outside of the namespace of the extension, in the order of their creation. */
  readonly #created: ObjectRef[] = [];
  #desired: KubeObject;

  constructor(cluster: ConformanceCluster, scenario: ScenarioSetup, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#scenario = scenario;
    this.#signal = signal;
    this.names = new ScenarioNames(scenario.id, { repository: formatRepository(cluster.repository), run: cluster.run });
    this.#images = new ScenarioImages(cluster, this.names, scenario.definitions, signal);
    const { extension, namespace } = this.names;
    this.#desired = {
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name: extension, labels: this.#labels },
      spec: {
        namespace,
        serviceAccount: { name: INSTALLER },
        source: {
          sourceType: "Catalog",
          catalog: { packageName: scenario.id, selector: { matchLabels: { [LABEL_SCENARIO]: scenario.id } } },
        },
      },
    };
  }

  /** Pushes and serves the catalogs. */
  async serveCatalogs(): Promise<void> {
    for (const [name, content] of this.#scenario.catalogs) {
      await this.pushCatalog(name, FIRST_TAG, content);
      await this.applyCatalog(name, { source: { type: "Image", image: { ref: this.names.catalogImage(name, FIRST_TAG) } } });
    }
    for (const name of this.#scenario.catalogs.keys()) await this.expectCondition({ catalog: name, type: "Serving", status: "True" });
  }

  /** Deletes the extension, then the other objects and the images. @returns what remains, with the reasons */
  async remove(signal: AbortSignal): Promise<string[]> {
    const left: string[] = [];
    const attempt = async (ref: ObjectRef): Promise<void> => {
      try {
        await this.#delete(ref, signal);
      } catch (err) {
        left.push(`${ref.kind} ${ref.name}: ${getErrorMessage(err)}`);
      }
    };
    await attempt(this.#extensionRef);
    for (const ref of this.#created.toReversed()) await attempt(ref);
    return [...left, ...(await this.#images.remove(signal))];
  }

  // Catalogs

  async pushCatalog(name: string, tag: string, content: TableCatalog): Promise<void> {
    await this.#images.publishCatalog(name, tag, content);
  }

  /** Pushes a catalog image with these files, which may be invalid. */
  async pushFiles(name: string, tag: string, files: Readonly<Record<string, string>>): Promise<void> {
    const entries = Object.entries(this.names.substitute(files)).map(([path, text]) => [`configs/${path}`, Buffer.from(text)] as const);
    await this.#images.publishFiles(`${name}-${tag}`, new Map(entries));
  }

  async applyCatalog(name: string, spec: JsonObject, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#apply(this.#catalogObject(name, spec, labels));
  }

  async patchCatalog(name: string, patch: JsonObject): Promise<void> {
    await this.#patch(this.#catalogRef(name), this.names.substitute(patch));
  }

  async deleteCatalog(name: string): Promise<void> {
    await this.#delete(this.#catalogRef(name), this.#signal);
  }

  async expectCatalogRejected(name: string, spec: JsonObject, message: string): Promise<void> {
    await this.#expectRejected(this.#catalogObject(name, spec, {}), message);
  }

  async expectCatalog(name: string, parts: JsonObject): Promise<void> {
    await this.#expectObject(this.#catalogRef(name), parts);
  }

  /** Sends a request for the content of a catalog until the response is as expected. */
  async expectContent(name: string, request: CatalogQuery, response: JsonObject): Promise<void> {
    const [sent, expected] = this.names.substitute([request, response] as const);
    await this.#wait(`the content of catalog ${name} at ${sent.path}`, async () => {
      const catalog = await this.#cluster.client.get(this.#catalogRef(name), { signal: this.#signal });
      const { urls } = (catalog?.["status"] ?? {}) as { urls?: { base?: string } };
      if (urls?.base === undefined) return "status.urls.base does not exist";
      return findMismatch(expected, await this.#cluster.content.read(urls.base, sent, this.#signal));
    });
  }

  // The extension

  /** Creates the namespace of the extension, and its ServiceAccount with all permissions or none. Only the servers may create its tokens. */
  async prepareNamespace({ isAdmin = true }: { readonly isAdmin?: boolean } = {}): Promise<void> {
    const { namespace } = this.names;
    await this.#apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await this.#apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: INSTALLER, namespace } });
    if (isAdmin) await this.grantAll();
    const metadata = { name: "installer-token", namespace };
    const rules = [{ apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [INSTALLER], verbs: ["create"] }];
    await this.#apply({ apiVersion: RBAC, kind: "Role", metadata, rules });
    await this.#apply({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata,
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: `system:serviceaccounts:${this.#cluster.systemNamespace}` }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
    });
  }

  /** Grants the ServiceAccount all permissions. */
  async grantAll(): Promise<void> {
    const { namespace } = this.names;
    await this.#apply({
      apiVersion: RBAC,
      kind: "ClusterRoleBinding",
      metadata: { name: namespace },
      subjects: [{ kind: "ServiceAccount", name: INSTALLER, namespace }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    });
  }

  /** Applies the extension with a merge patch of its spec, which later patches build on. */
  async applyExtension(patch: JsonObject): Promise<void> {
    this.#desired = this.#patched(patch);
    await this.#cluster.client.apply(this.#desired, { fieldManager: FIELD_MANAGER, force: true, signal: this.#signal });
  }

  async deleteExtension(): Promise<void> {
    await this.#delete(this.#extensionRef, this.#signal);
  }

  /** Expects that the API server rejects the extension with a patch, or another extension with a name. */
  async expectExtensionRejected({ spec, name }: { readonly spec: JsonObject; readonly name?: string }, message: string): Promise<void> {
    const patched = this.#patched(spec);
    await this.#expectRejected(name === undefined ? patched : { ...patched, metadata: { ...patched.metadata, name } }, message);
  }

  /** Waits until the latest generation is reconciled, and this bundle is installed. */
  async expectRolledOut(bundle: string): Promise<void> {
    await this.#wait(`bundle ${bundle} to be installed`, async () => {
      const { metadata, install, conditions } = await this.#readExtension();
      const [installed, progressing] = ["Installed", "Progressing"].map((type) => findCondition(conditions, type));
      if (progressing?.observedGeneration !== metadata.generation) return "the latest generation is not reconciled yet";
      if (progressing?.status !== "True" || progressing.reason !== "Succeeded") return `Progressing: ${describeCondition(progressing)}`;
      if (installed?.status !== "True") return `Installed: ${describeCondition(installed)}`;
      return findMismatch(bundle, install?.bundle?.name);
    });
  }

  /** Expects that the latest generation is reconciled, and that this bundle stays installed for some reconciles. */
  async expectStays(bundle: string): Promise<void> {
    await this.#wait("the latest generation to be reconciled", async () => {
      const { metadata, conditions } = await this.#readExtension();
      return findCondition(conditions, "Progressing")?.observedGeneration === metadata.generation ? undefined : "it is not";
    });
    await this.#expectAlways(`bundle ${bundle} to stay installed`, async () =>
      findMismatch(bundle, (await this.#readExtension()).install?.bundle?.name),
    );
  }

  async expectExtension(parts: JsonObject): Promise<void> {
    await this.#expectObject(this.#extensionRef, parts);
  }

  async expectCondition({ catalog, type, status, reason, message, includes = [] }: ExpectedCondition): Promise<void> {
    const ref = catalog === undefined ? this.#extensionRef : this.#catalogRef(catalog);
    const expected = this.names.substitute({
      type,
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
    });
    const parts = this.names.substitute(includes);
    await this.#wait(
      `condition ${type} of ${ref.kind} ${ref.name} to be ${status}${reason === undefined ? "" : ` (${reason})`}`,
      async () => {
        const object = await this.#cluster.client.get(ref, { signal: this.#signal });
        const { conditions } = (object?.["status"] ?? {}) as { conditions?: Condition[] };
        const found = findCondition(conditions, type);
        if (found && found.observedGeneration !== object?.metadata.generation) return "it does not observe the latest generation yet";
        return findMismatch(expected, found) ?? findMismatch({ message: { $includes: parts } }, found ?? { message: "" });
      },
    );
  }

  // Other objects

  async createNamespace(name: string): Promise<void> {
    await this.#apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: this.names.substitute(name) } });
  }

  async applyObject(object: KubeObject): Promise<void> {
    await this.#apply(this.names.substitute(object));
  }

  async patchObject(ref: ObjectRef, patch: JsonObject): Promise<void> {
    await this.#patch(this.names.substitute(ref), this.names.substitute(patch));
  }

  async deleteObject(ref: ObjectRef): Promise<void> {
    await this.#delete(this.names.substitute(ref), this.#signal);
  }

  async expectObjects(refs: readonly ObjectRef[]): Promise<void> {
    for (const ref of this.names.substitute(refs)) await this.#expectObject(ref, {});
  }

  async expectNoObjects(refs: readonly ObjectRef[]): Promise<void> {
    for (const ref of this.names.substitute(refs))
      await this.#wait(`${ref.kind} ${ref.name} not to exist`, async () =>
        (await this.#find(ref)) === undefined ? undefined : "it exists",
      );
  }

  async expectObjectHas(ref: ObjectRef, parts: JsonObject): Promise<void> {
    await this.#expectObject(this.names.substitute(ref), this.names.substitute(parts));
  }

  /** Expects that an object has these parts for some reconciles. */
  async expectObjectKeeps(ref: ObjectRef, parts: JsonObject): Promise<void> {
    const [named, expected] = this.names.substitute([ref, parts] as const);
    await this.#expectAlways(`${ref.kind} ${ref.name} to stay unchanged`, async () => findMismatch(expected, await this.#find(named)));
  }

  get #labels(): Record<string, string> {
    return { [LABEL_CONFORMANCE]: this.#cluster.run };
  }

  get #extensionRef(): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.names.extension };
  }

  #catalogRef(name: string): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: this.names.catalog(name) };
  }

  #catalogObject(name: string, spec: JsonObject, labels: Readonly<Record<string, string>>): KubeObject {
    const { name: full, ...gvk } = this.#catalogRef(name);
    const metadata = { name: full, labels: { [LABEL_SCENARIO]: this.#scenario.id, ...labels } };
    return { ...gvk, metadata, spec: this.names.substitute(spec) };
  }

  #patched(patch: JsonObject): KubeObject {
    return { ...this.#desired, spec: mergeValues(this.#desired["spec"] as JsonObject, this.names.substitute(patch)) };
  }

  async #readExtension() {
    const object = await this.#cluster.client.get(this.#extensionRef, { signal: this.#signal });
    const { install, conditions } = (object?.["status"] ?? {}) as {
      install?: { bundle?: { name?: string } };
      conditions?: Condition[];
    };
    return { metadata: object?.metadata ?? { name: "" }, install, conditions };
  }

  async #find(ref: ObjectRef): Promise<KubeObject | undefined> {
    return this.#cluster.client.get(ref, { signal: this.#signal }).catch((err: unknown) => {
      if (isNamespaceMissing(err)) return undefined;
      throw err;
    });
  }

  async #expectObject(ref: ObjectRef, parts: JsonObject): Promise<void> {
    await this.#wait(`${ref.kind} ${ref.name}`, async () => {
      const object = await this.#find(ref);
      return object ? findMismatch(this.names.substitute(parts), object) : "it does not exist";
    });
  }

  async #expectRejected(object: KubeObject, message: string): Promise<void> {
    const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal };
    const rejection = await this.#cluster.client.apply(object, options).then(
      () => undefined,
      (err: unknown) => {
        if (err instanceof KubeError) return err.message;
        throw err;
      },
    );
    if (rejection === undefined) throw new Error(`the API server accepts ${object.kind} ${object.metadata.name}`);
    const mismatch = findMismatch({ $includes: this.names.substitute(message) }, rejection);
    if (mismatch !== undefined) throw new Error(`the API server rejects it for another reason: ${mismatch}`);
  }

  async #apply(object: KubeObject): Promise<void> {
    const labelled = { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...this.#labels } } };
    const { apiVersion, kind, metadata } = object;
    const ref = { apiVersion, kind, name: metadata.name, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) };
    if (metadata.namespace !== this.names.namespace) this.#created.push(ref);
    await this.#cluster.client.apply(labelled, { fieldManager: FIELD_MANAGER, force: true, signal: this.#signal });
  }

  async #patch(ref: ObjectRef, patch: JsonObject): Promise<void> {
    await this.#cluster.client.patch(ref, patch, { type: "merge", fieldManager: "kubectl-edit", signal: this.#signal });
  }

  /** Deletes an object and waits until it is gone. */
  async #delete(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, timeoutMs } = this.#cluster;
    await client.delete(ref, { signal });
    await waitFor({ what: `${ref.kind} ${ref.name} to be deleted`, timeoutMs, signal }, async () =>
      (await this.#find(ref)) === undefined ? { done: undefined } : { reason: "it exists" },
    );
  }

  /** Waits until `check` finds no mismatch. */
  async #wait(what: string, check: () => Promise<string | undefined>): Promise<void> {
    const answer = async (): Promise<PollAnswer<undefined, string>> => {
      const reason = await check();
      return reason === undefined ? { done: undefined } : { reason };
    };
    await waitFor({ what, timeoutMs: this.#cluster.timeoutMs, signal: this.#signal }, answer);
  }

  /** Expects that `check` finds no mismatch for some time. */
  async #expectAlways(what: string, check: () => Promise<string | undefined>): Promise<void> {
    const end = performance.now() + SETTLE_MS;
    for (;;) {
      const mismatch = await check();
      if (mismatch !== undefined) throw new Error(`expected ${what}: ${mismatch}`);
      if (performance.now() >= end) return;
      await sleep(EVERY_MS, undefined, { signal: this.#signal });
    }
  }
}

function describeCondition(condition: Condition | undefined): string {
  return condition ? `${condition.status} (${condition.reason}): ${condition.message}` : "the condition does not exist";
}
