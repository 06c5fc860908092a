import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import { type Installation, type InstallationOptions, startInstallation } from "../../pkg/devcluster/installation.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { expectKstatus, isObserved } from "./kstatus.ts";
import { problemText } from "./problems.ts";
import { formatRegistriesConf, pushBundleImage, pushCatalogImage } from "./pushedImages.ts";

const REGISTRIES_CONF = "registries.conf";

/** The parts of a cluster that a world needs. */
export type WorldCluster = Pick<TestCluster, "client" | "kubeconfig" | "registry" | "programs">;

/**
 * All programs: both servers as processes on a control plane, with exactly the permissions of config/rbac,
 * and a registry in place of quay.io.
 */
export class World {
  readonly cluster: WorldCluster;
  readonly installation: Installation;
  readonly workDir: string;
  readonly unexpectedEnds: string[];

  private constructor(cluster: WorldCluster, installation: Installation, workDir: string, unexpectedEnds: string[]) {
    this.cluster = cluster;
    this.installation = installation;
    this.workDir = workDir;
    this.unexpectedEnds = unexpectedEnds;
  }

  /** Starts the built programs. Accepts any image unless `signaturePolicy` is set. */
  static async start(
    cluster: WorldCluster,
    options: Pick<InstallationOptions, "env" | "extraArgs" | "programs" | "config" | "signaturePolicy"> = {},
  ): Promise<World> {
    const workDir = await mkdtemp(join(tmpdir(), "olmv1-e2e-"));
    const registriesConf = join(workDir, REGISTRIES_CONF);
    await writeFile(registriesConf, formatRegistriesConf(cluster.registry.host));
    const signaturePolicy = join(workDir, "policy.json");
    await writeFile(signaturePolicy, '{"default":[{"type":"insecureAcceptAnything"}]}');
    const unexpectedEnds: string[] = [];
    const installation = await startInstallation({
      admin: cluster.client,
      adminKubeconfig: cluster.kubeconfig,
      workDir,
      registriesConf,
      signaturePolicy,
      onExit: (text) => unexpectedEnds.push(text),
      programs: cluster.programs,
      ...options,
    });
    return new World(cluster, installation, workDir, unexpectedEnds);
  }

  /** Path of the registries.conf that maps quay.io to the registry of the cluster. */
  get registriesConf(): string {
    return join(this.workDir, REGISTRIES_CONF);
  }

  async stop(): Promise<void> {
    await this.installation.stop();
    await rm(this.workDir, { recursive: true, force: true });
    if (this.unexpectedEnds.length > 0) throw new Error(this.unexpectedEnds.join("\n"));
  }

  /** Pushes a catalog so that `quay.io/repository:tag` is its reference. @returns the reference by digest. */
  async pushCatalog(repository: string, tag: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
    return pushCatalogImage(this.cluster.registry, repository, tag, files);
  }

  /** Pushes a bundle so that `quay.io/repository:tag` is its reference. @returns the reference by digest. */
  async pushBundle(repository: string, tag: string, packageName: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
    return pushBundleImage(this.cluster.registry, repository, tag, packageName, files);
  }

  /** Creates a ClusterCatalog of an image and waits until its content is served. */
  async serve(name: string, ref: string, spec: Record<string, unknown> = {}): Promise<void> {
    await this.apply({
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name },
      spec: { source: { type: "Image", image: { ref } }, ...spec },
    });
    await this.condition("ClusterCatalog", name, (c) => c("Serving")?.status === "True", 120_000);
  }

  apply(object: KubeObject): Promise<KubeObject> {
    return this.cluster.client.apply(object, { fieldManager: "test", force: true });
  }

  extension(name: string): Promise<ClusterExtension | undefined> {
    return this.cluster.client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: "ClusterExtension", name });
  }

  /** Waits until the conditions of an object satisfy `holds`; the error contains the last ones. @returns the object. */
  async condition(
    kind: "ClusterCatalog" | "ClusterExtension",
    name: string,
    holds: (condition: (type: string) => Condition | undefined, object: KubeObject) => boolean,
    timeoutMs = 120_000,
  ): Promise<KubeObject> {
    return eventually(
      async () => {
        const object = await this.cluster.client.get({ apiVersion: API_VERSION, kind, name });
        if (!object) throw new Error(`${kind} ${name} does not exist`);
        const { conditions = [] } = (object["status"] ?? {}) as { conditions?: Condition[] };
        if (!holds((type) => findCondition(conditions, type), object))
          throw new Error(`${kind} ${name}: ${JSON.stringify(conditions, null, 1)}`);
        if (isObserved(object)) expectKstatus(object);
        return object;
      },
      { timeoutMs },
    );
  }

  /** Waits until the text of the problems that an extension reports satisfies `holds`. @returns that text. */
  async problems(name: string, holds: (text: string) => boolean): Promise<string> {
    return eventually(
      async () => {
        const text = problemText((await this.extension(name))?.status);
        if (!holds(text)) throw new Error(`problems of ${name}: ${text}`);
        return text;
      },
      { timeoutMs: 60_000 },
    );
  }

  /** Waits until an extension has this version installed and reconciled. */
  installed(name: string, version: string): Promise<KubeObject> {
    return this.condition("ClusterExtension", name, (condition, object) => {
      const status = object["status"] as ClusterExtension["status"];
      return status?.install?.bundle.version === version && condition("Progressing")?.reason === "Succeeded";
    });
  }

  /** Deletes an object and waits until it no longer exists. */
  async removed(kind: "ClusterCatalog" | "ClusterExtension", name: string): Promise<void> {
    const ref = { apiVersion: API_VERSION, kind, name };
    await this.cluster.client.delete(ref);
    await eventually(async () => {
      const left = await this.cluster.client.get(ref);
      if (left) throw new Error(`${kind} ${name} still exists: ${JSON.stringify(left["status"])}`);
    });
  }
}

/** Returns all files in a folder by slash path. */
export async function filesBelow(folder: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(folder.length + 1).replaceAll("\\", "/"), await readFile(path));
  }
  return files;
}
