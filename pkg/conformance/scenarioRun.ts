import { findCondition } from "../api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { Condition, JsonObject, KubeObject, ObjectRef } from "../api/k8s.ts";
import { formatRepository } from "../oci/reference.ts";
import { mergeValues } from "../render/configSources.ts";
import { CatalogSteps } from "./catalogSteps.ts";
import type { TableCatalog } from "./catalogTable.ts";
import type { ConformanceCluster } from "./conformanceCluster.ts";
import { findMismatch } from "./expectations.ts";
import { type ExpectedCondition, ObjectSteps } from "./objectSteps.ts";
import { ScenarioImages } from "./scenarioImages.ts";
import { LABEL_SCENARIO, ScenarioNames } from "./scenarioNames.ts";
import { ServerSteps } from "./serverSteps.ts";
import type { DefinitionVersions } from "./tableBundle.ts";

/** The parts of a scenario that its steps need. */
export interface ScenarioSetup {
  readonly id: string;
  readonly catalogs: ReadonlyMap<string, TableCatalog>;
  readonly definitions: DefinitionVersions;
}

/** How a scenario runs. */
export interface ScenarioRunOptions {
  /** Whether the extension names its ServiceAccount: the field is deprecated, so an implementation may not have it. */
  readonly namesServiceAccount: boolean;
  readonly signal: AbortSignal;
}

const INSTALLER = "installer";
const RBAC = "rbac.authorization.k8s.io/v1";

/** Runs the steps of one scenario: those about its extension itself, and the others with its parts. */
export class ScenarioRun {
  readonly objects: ObjectSteps;
  readonly catalogs: CatalogSteps;
  readonly servers: ServerSteps;
  readonly #cluster: ConformanceCluster;
  readonly #scenario: ScenarioSetup;
  readonly #names: ScenarioNames;
  readonly #images: ScenarioImages;
  #desired: KubeObject;

  constructor(cluster: ConformanceCluster, scenario: ScenarioSetup, { namesServiceAccount, signal }: ScenarioRunOptions) {
    this.#cluster = cluster;
    this.#scenario = scenario;
    const names = new ScenarioNames(scenario.id, { repository: formatRepository(cluster.repository), run: cluster.run });
    this.#names = names;
    this.#images = new ScenarioImages(cluster, names, scenario.definitions, signal);
    this.objects = new ObjectSteps(cluster, names, signal);
    this.catalogs = new CatalogSteps(scenario.id, { names, images: this.#images, objects: this.objects, content: cluster.content, signal });
    this.servers = new ServerSteps(cluster.client, { names, objects: this.objects, signal });
    this.#desired = {
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name: names.extension },
      spec: {
        namespace: names.namespace,
        ...(namesServiceAccount ? { serviceAccount: { name: INSTALLER } } : {}),
        source: {
          sourceType: "Catalog",
          catalog: { packageName: scenario.id, selector: { matchLabels: { [LABEL_SCENARIO]: scenario.id } } },
        },
      },
    };
  }

  /** Pushes and serves the catalogs. */
  async serveCatalogs(): Promise<void> {
    await this.catalogs.serveAll(this.#scenario.catalogs);
  }

  /** Deletes all objects, and the tags of the images. @returns what remains, as `ObjectSteps.removeAll` */
  async remove(signal: AbortSignal): Promise<{ own: string[]; others: string[] }> {
    const { own, others } = await this.objects.removeAll(signal);
    return { own, others: [...others, ...(await this.#images.remove(signal))] };
  }

  /** Creates the namespace of the extension, and its ServiceAccount with all permissions or none. Only the servers may create its tokens. */
  async prepareNamespace({ isAdmin = true }: { readonly isAdmin?: boolean } = {}): Promise<void> {
    const { namespace } = this.#names;
    await this.objects.createNamespace(namespace);
    await this.objects.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: INSTALLER, namespace } });
    if (isAdmin) await this.grantAll();
    const metadata = { name: "installer-token", namespace };
    const rules = [{ apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [INSTALLER], verbs: ["create"] }];
    await this.objects.apply({ apiVersion: RBAC, kind: "Role", metadata, rules });
    await this.objects.apply({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata,
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: `system:serviceaccounts:${this.#cluster.systemNamespace}` }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
    });
  }

  /** Grants the ServiceAccount all permissions. */
  async grantAll(): Promise<void> {
    const { namespace } = this.#names;
    await this.objects.apply({
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
    await this.objects.apply(this.#desired);
  }

  /** Applies another extension: as this one, with a patch of its spec. @param suffix of its name */
  async applyOther(suffix: string, patch: JsonObject): Promise<void> {
    const { metadata, ...object } = this.#patched(patch);
    await this.objects.apply({ ...object, metadata: { ...metadata, name: `${metadata.name}-${suffix}` } });
  }

  async deleteExtension(): Promise<void> {
    await this.objects.delete(this.#extensionRef);
  }

  /** Expects that the API server rejects the extension with a patch, or another extension with a name. */
  async expectExtensionRejected({ spec, name }: { readonly spec: JsonObject; readonly name?: string }, message: string): Promise<void> {
    const patched = this.#patched(spec);
    const object = name === undefined ? patched : { ...patched, metadata: { ...patched.metadata, name } };
    await this.objects.expectRejected(object, message);
  }

  /** Waits until the latest generation is reconciled, and this bundle is installed. */
  async expectRolledOut(bundle: string): Promise<void> {
    await this.objects.wait(`bundle ${bundle} to be installed`, async () => {
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
    await this.objects.wait("the latest generation to be reconciled", async () => {
      const { metadata, conditions } = await this.#readExtension();
      return findCondition(conditions, "Progressing")?.observedGeneration === metadata.generation ? undefined : "it is not";
    });
    await this.objects.expectAlways(`bundle ${bundle} to stay installed`, async () =>
      findMismatch(bundle, (await this.#readExtension()).install?.bundle?.name),
    );
  }

  async expectExtension(parts: JsonObject): Promise<void> {
    await this.objects.expect(this.#extensionRef, parts);
  }

  /** Expects a condition of the extension, or of a catalog in the scenario. */
  async expectCondition({ catalog, ...condition }: ExpectedCondition & { readonly catalog?: string | undefined }): Promise<void> {
    if (catalog === undefined) await this.objects.expectCondition(this.#extensionRef, condition);
    else await this.catalogs.expectCondition(catalog, condition);
  }

  get #extensionRef(): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.#names.extension };
  }

  #patched(patch: JsonObject): KubeObject {
    return { ...this.#desired, spec: mergeValues(this.#desired["spec"] as JsonObject, this.#names.substitute(patch)) };
  }

  async #readExtension() {
    const object = await this.objects.get(this.#extensionRef);
    const { install, conditions } = (object?.["status"] ?? {}) as {
      install?: { bundle?: { name?: string } };
      conditions?: Condition[];
    };
    return { metadata: object?.metadata ?? { name: "" }, install, conditions };
  }
}

function describeCondition(condition: Condition | undefined): string {
  return condition ? `${condition.status} (${condition.reason}): ${condition.message}` : "the condition does not exist";
}
