import type { ClusterExtension, ClusterExtensionSpec } from "../../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../../pkg/api/conditions.ts";
import { ANNOTATION_APPROVE, API_VERSION, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../../../pkg/api/constants.ts";
import type { Condition, JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import type { ProblemType } from "../../../pkg/api/problemTypes.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { eventually } from "../eventually.ts";
import type { World } from "../world.ts";
import { CATALOGS } from "./catalogs.ts";

/** What a user sets for an extension: the spec without its source, and selections in the catalog. */
export interface SeedSpec extends Partial<Omit<ClusterExtensionSpec, "source">> {
  readonly version?: string;
  readonly channels?: string[];
  /** Default: the community catalog. */
  readonly catalog?: string;
}

/** Creates and changes extensions as their users do, and waits for the results. */
export class Seed {
  readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  get client(): Client {
    return this.world.cluster.client;
  }

  /** Returns an extension of a package. */
  describe(name: string, packageName: string, { version, channels, catalog = CATALOGS.community, ...spec }: SeedSpec = {}): KubeObject {
    const selection = { ...(version === undefined ? {} : { version }), ...(channels === undefined ? {} : { channels }) };
    return {
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name },
      spec: {
        ...spec,
        source: {
          sourceType: "Catalog",
          catalog: { packageName, selector: { matchLabels: { [LABEL_METADATA_NAME]: catalog } }, ...selection },
        },
      },
    };
  }

  /** Creates an extension of a package, without waiting. */
  async create(name: string, packageName: string, spec: SeedSpec = {}): Promise<void> {
    await this.client.create(this.describe(name, packageName, spec), { fieldManager: "kubectl-create" });
  }

  /** Creates an extension and waits until it is installed with this version. */
  async install(name: string, packageName: string, version: string, spec: SeedSpec = {}): Promise<void> {
    await this.create(name, packageName, { version, ...spec });
    await this.world.installed(name, version);
  }

  /** Patches an extension. */
  async edit(name: string, body: JsonObject): Promise<void> {
    await this.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, body, {
      type: "merge",
      fieldManager: "kubectl-edit",
    });
  }

  /** Sets the version or range of an extension. */
  selectVersion(name: string, version: string): Promise<void> {
    return this.edit(name, { spec: { source: { catalog: { version } } } });
  }

  /** Waits until an extension has a plan for this version. @returns its digest. */
  async awaitPlan(name: string, version: string): Promise<string> {
    const found = await this.until(name, ({ status }) => status?.plan?.bundle.version === version);
    return found.status?.plan?.digest ?? "";
  }

  /** Approves the plan with this digest. */
  approve(name: string, digest: string): Promise<void> {
    return this.edit(name, { metadata: { annotations: { [ANNOTATION_APPROVE]: digest } } });
  }

  /** Waits until an extension reports a problem of this type. */
  async awaitProblem(name: string, type: ProblemType): Promise<void> {
    await this.until(name, ({ status }) => status?.problems?.some((problem) => problem.type === type) === true);
  }

  /** Waits until a condition of an extension has this reason. */
  async awaitReason(name: string, type: string, reason: string): Promise<void> {
    await this.until(name, (_, condition) => condition(type)?.reason === reason);
  }

  /** Waits until an extension satisfies `holds`. @returns the extension. */
  until(
    name: string,
    holds: (extension: ClusterExtension, condition: (type: string) => Condition | undefined) => boolean,
  ): Promise<ClusterExtension> {
    return eventually(async () => {
      const found = await this.world.extension(name);
      if (found && holds(found, (type) => findCondition(found.status?.conditions, type))) return found;
      throw new Error(`ClusterExtension ${name} does not have the expected state: ${JSON.stringify(found?.status, undefined, 1)}`);
    });
  }

  /** Creates a namespace. */
  async namespace(name: string): Promise<void> {
    await this.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  apply(object: KubeObject): Promise<KubeObject> {
    return this.client.apply(object, { fieldManager: "kubectl-client-side-apply", force: true });
  }
}
