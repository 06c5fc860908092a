import { expect } from "vitest";
import { type ClusterExtension, type ClusterExtensionSpec, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, API_VERSION } from "../../../pkg/api/constants.ts";
import type { JsonObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import { readCatalogTable } from "../../../pkg/conformance/catalogTable.ts";
import { POD_OUTCOME_ANNOTATION, type PodOutcome } from "../../../pkg/devcluster/podSimulation.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { mergeValues } from "../../../pkg/render/configSources.ts";
import { eventually } from "../eventually.ts";
import { createExtension } from "../extensions.ts";
import { grantInstaller } from "../serviceAccounts.ts";
import type { World } from "../world.ts";
import { applyExtension, type User } from "./applied.ts";
import { CatalogImages } from "./catalogImages.ts";
import { readManifestFile, toInventoryRef } from "./clusterObjects.ts";
import type { Scenario } from "./scenario.ts";
import { ScenarioChecks } from "./scenarioChecks.ts";
import { tableBundleObjects } from "./tableBundle.ts";

/** Who grants the permissions of the extension: the scenario, or permission-manager, without or despite a ServiceAccount in its spec. */
export type ScenarioPermissions = "prepared" | "managed" | "drop-in";

/** Runs one scenario: serves its catalogs, and calls a method for each step. */
export class ScenarioRun {
  /** The warnings of the API server at the latest apply of the extension. */
  warnings: readonly string[] = [];
  readonly checks: ScenarioChecks;
  readonly #world: World;
  readonly #client: Client;
  readonly #scenario: Scenario;
  readonly #catalogs: CatalogImages;
  readonly #permissions: ScenarioPermissions;
  #desired: ClusterExtension;
  #requestCount = 0;

  constructor(world: World, scenario: Scenario, permissions: ScenarioPermissions = "prepared") {
    this.#permissions = permissions;
    this.#world = world;
    this.#client = world.cluster.client;
    this.#scenario = scenario;
    this.#catalogs = new CatalogImages(world, scenario);
    this.checks = new ScenarioChecks(world, scenario.id);
    const { spec, ...extension } = createExtension(scenario.id, {
      packageName: scenario.id,
      selector: { matchLabels: { scenario: scenario.id } },
    });
    const { serviceAccount, ...others } = spec;
    this.#desired = { ...extension, spec: permissions === "managed" || !serviceAccount ? others : spec };
  }

  /** Runs the steps; the error names the failed one. */
  async play(): Promise<void> {
    const { catalogs, steps } = this.#scenario;
    await Promise.all([...catalogs].map(([name, table]) => this.#catalogs.serve(name, table)));
    for (const { text, word, argument } of steps) {
      try {
        await word.run(this, argument as never);
      } catch (err) {
        if (err instanceof Error) err.message = `${text}: ${err.message}`;
        throw err;
      }
    }
  }

  /** Deletes all objects of the scenario, without waiting. */
  async end(): Promise<void> {
    await this.#client.delete(this.#self);
    await this.#catalogs.delete();
  }

  async createNamespace(name: string): Promise<void> {
    await this.#world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  /** Creates the namespace, and grants the installer the permissions for every bundle in the tables with every configuration in the steps. */
  async grantInstaller(): Promise<void> {
    const namespace = getNamespace(this.#desired);
    if (this.#permissions !== "prepared") return this.createNamespace(namespace);
    const configs = [undefined, ...this.#configs()];
    const objects = this.#catalogs.bundles.flatMap((bundle) =>
      configs.flatMap((config) => tableBundleObjects(bundle, namespace, config) ?? []),
    );
    await grantInstaller(this.#client, this.#desired, objects);
  }

  async applyExtension(patch: JsonObject): Promise<void> {
    this.#desired = this.#patch(patch);
    this.warnings = await applyExtension(this.#client, this.#desired);
  }

  async applyAs({ user, group, spec }: User & { spec: JsonObject }): Promise<void> {
    await this.grantInstaller();
    this.#desired = this.#patch(spec);
    this.warnings = await applyExtension(this.#client, this.#desired, { as: { user, group } });
  }

  /** A policy takes a moment to become active, so a dry run polls for that. */
  async refused({ user, group, spec }: User & { spec: JsonObject }, message: string): Promise<void> {
    const name = `${this.#scenario.id}-refused`;
    const object = { ...this.#patch(spec), metadata: { name } };
    // If this expectation were asynchronous, Vitest would report its failures for a scenario that ends meanwhile, even caught ones.
    const refusal = (options: { dryRun?: boolean }): Promise<string> =>
      applyExtension(this.#client, object, { as: { user, group }, ...options }).then(
        () => "no refusal",
        (err: Error) => err.message,
      );
    await eventually(async () => expect(await refusal({ dryRun: true })).toContain(message), { timeoutMs: 120_000 });
    expect(await refusal({})).toContain(message);
    expect(await this.#client.get({ ...this.#self, name })).toBeUndefined();
  }

  async deleteExtension(): Promise<void> {
    await this.#world.removed("ClusterExtension", this.#scenario.id);
  }

  async askForReconcile(): Promise<void> {
    const value = String(++this.#requestCount);
    await this.#client.patch(this.#self, { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: value } } }, { type: "merge" });
    await eventually(async () => expect((await this.#extension()).status?.lastHandledReconcileAt).toBe(value));
  }

  async applyFile(path: string): Promise<void> {
    for (const manifest of await readManifestFile(path)) await this.#world.apply(manifest);
  }

  async deleteObject(name: string): Promise<void> {
    expect(await this.#client.delete(this.#ref(name))).toBe(true);
  }

  async patchObject(name: string, patch: JsonObject): Promise<void> {
    await this.#client.patch(this.#ref(name), patch, { type: "merge", fieldManager: "kubectl" });
  }

  async setPods(podOutcome: PodOutcome): Promise<void> {
    const ref = { apiVersion: "v1", kind: "Namespace", name: getNamespace(this.#desired) };
    await this.#client.patch(ref, { metadata: { annotations: { [POD_OUTCOME_ANNOTATION]: podOutcome } } }, { type: "merge" });
  }

  async pushCatalog(tag: string, table: string): Promise<void> {
    await this.#catalogs.push(this.#catalog, tag, readCatalogTable(table));
    await this.grantInstaller();
  }

  async setCatalogTag(tag: string): Promise<void> {
    await this.#catalogs.apply(this.#catalog, tag);
  }

  async poll(): Promise<void> {
    await this.#catalogs.poll(this.#catalog);
  }

  get #self(): ObjectRef {
    return { apiVersion: API_VERSION, kind: "ClusterExtension", name: this.#scenario.id };
  }

  /** The only catalog of a scenario. */
  get #catalog(): string {
    const [name, ...others] = this.#scenario.catalogs.keys();
    if (name === undefined || others.length > 0) throw new Error(`this step needs a scenario with one catalog`);
    return name;
  }

  #ref(name: string): ObjectRef {
    return toInventoryRef(name, getNamespace(this.#desired));
  }

  async #extension(): Promise<ClusterExtension> {
    const found = await this.#world.extension(this.#scenario.id);
    if (!found) throw new Error(`ClusterExtension ${this.#scenario.id} does not exist`);
    return found;
  }

  #patch(patch: JsonObject): ClusterExtension {
    return { ...this.#desired, spec: mergeValues({ ...this.#desired.spec }, patch) as ClusterExtensionSpec };
  }

  /** Every spec.config.inline in the steps. */
  #configs(): JsonObject[] {
    return this.#scenario.steps.flatMap(({ argument }) => {
      const inline = (argument as { config?: { inline?: JsonObject } } | undefined)?.config?.inline;
      return inline ? [inline] : [];
    });
  }
}
