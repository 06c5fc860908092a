import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";
import { SERVER_LEASES, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { LEASE } from "../../pkg/controller/lease.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { readBundleFiles } from "../../pkg/operatorcontroller/bundles/bundleFiles.ts";
import { contentFrom } from "./catalogFixture.ts";
import type { ClassicRecording, RecordedPackage } from "./classicRecording.ts";
import type { TestCluster } from "./cluster.ts";
import { OperatorWorld } from "./operatorWorld.ts";
import { insecureRegistry } from "./pulling.ts";
import type { Ended } from "./runCli.ts";

const CATALOG = "c";

interface MigrationWorldOptions {
  /** The folder of real data. */
  readonly folder: string;
  readonly recording: ClassicRecording;
  readonly packages: readonly string[];
  /** Whether permission-manager runs. */
  readonly isManaged?: boolean;
  /** Names of required packages by name of the dependent, in place of the dependencies of its bundle. Default: those of the recording. */
  readonly dependencies?: Readonly<Partial<Record<string, string>>>;
}

/** The recording installed this dependency in place of the dependencies of the bundle. */
const RECORDED_DEPENDENCIES: Readonly<Partial<Record<string, string>>> = { "ndmspc-operator": "limitador-operator" };

/** A control plane on which OLM v0 has installed operators of the recording, with operator-controller, and a catalog with their bundles. */
export class MigrationWorld implements AsyncDisposable {
  readonly world: OperatorWorld;
  readonly #cluster: TestCluster;
  readonly #dir: string;
  /** The folder of real data. */
  readonly #folder: string;

  private constructor(cluster: TestCluster, world: OperatorWorld, { dir, folder }: { dir: string; folder: string }) {
    this.#cluster = cluster;
    this.world = world;
    this.#dir = dir;
    this.#folder = folder;
  }

  static async start(
    cluster: TestCluster,
    { folder, recording, packages, isManaged = false, dependencies = RECORDED_DEPENDENCIES }: MigrationWorldOptions,
  ): Promise<MigrationWorld> {
    await recording.serve(cluster.client);
    await recording.replay(cluster.client, packages);
    const world = await OperatorWorld.start(cluster, isManaged ? { permissionManager: cluster.client } : {});
    if (isManaged) await cluster.client.create(buildLease());
    const dir = await mkdtemp(join(tmpdir(), "olmv1-migrate-"));
    const metas: unknown[] = [];
    for (const packageName of packages) {
      const dependency = dependencies[packageName];
      const files = await readRecordedFiles(folder, recording.get(packageName), dependency);
      metas.push(...(await publish(cluster, world, { recorded: recording.get(packageName), files, dependency })));
    }
    await writeFile(join(dir, "catalog.json"), metas.map((meta) => JSON.stringify(meta)).join("\n"));
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host, "registry.example"));
    return new MigrationWorld(cluster, world, { dir, folder });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Returns the path of a file in a temporary folder. */
  path(name: string): string {
    return join(this.#dir, name);
  }

  /** Pushes an image with these catalog objects, for a CatalogSource. @returns its reference */
  async pushCatalog(tag: string, metas: readonly object[]): Promise<string> {
    const labels = { "operators.operatorframework.io.index.configs.v1": "/configs" };
    const content = Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"));
    await pushImage(this.#cluster.registry, "catalog", tag, { labels, files: new Map([["configs/catalog.json", content]]) });
    return `registry.example/catalog:${tag}`;
  }

  /** Adds a version to the catalog of operator-controller: the recorded bundle with another version. @returns the name of its bundle */
  async publishUpgrade(recorded: RecordedPackage, version: string): Promise<string> {
    const { packageName, csv, channel } = recorded;
    const files = await readBundleFiles(join(this.#folder, "bundles", packageName, recorded.version));
    const isCsv = (path: string): boolean => path.endsWith(".clusterserviceversion.yaml");
    const rename = (content: Uint8Array): Uint8Array =>
      Buffer.from(Buffer.from(content).toString("utf8").replaceAll(recorded.version, version));
    const renamed = new Map([...files].map(([path, content]) => [path, isCsv(path) ? rename(content) : content]));
    const name = csv.replace(recorded.version, version);
    const { digest } = await pushImage(this.#cluster.registry, packageName, `v${version}`, { files: renamed });
    this.world.bundle(`${packageName}:v${version}`, Object.fromEntries(renamed), digest);
    const image = (of: string): string => `registry.example/${packageName}:v${of}`;
    const bundles = [
      { name: csv, version: recorded.version, image: image(recorded.version) },
      { name, version, image: image(version) },
    ];
    const content = contentFrom({ channels: { [channel]: [csv, { name, replaces: csv }] }, bundles }, packageName);
    await this.world.servePackage(content, packageName, CATALOG);
    return name;
  }

  /** Runs `olmv1 migrate`; `onLine` receives each line when it is printed. @param run.kubeconfig default: that of the administrator */
  async migrate(
    [verb = "", ...rest]: readonly string[],
    onLine: (text: string, stop: AbortController) => void = () => undefined,
    { kubeconfig = this.#cluster.kubeconfig, stop = new AbortController() }: { kubeconfig?: string; stop?: AbortController } = {},
  ): Promise<Ended> {
    const ended = { out: "", err: "" };
    const terminal = new CommandTerminal({
      out: (text) => {
        ended.out += text;
        onLine(text, stop);
      },
      err: (text) => void (ended.err += text),
      signal: stop.signal,
      width: 200,
    });
    const registries = ["--registries-conf", this.path("registries.conf")];
    const reading = [...registries, "--catalog-dir", `${CATALOG}=${this.path("catalog.json")}`];
    const extra = verb === "check" || verb === "convert" ? reading : verb === "catalogs" ? registries : [];
    const all = ["migrate", verb, ...rest, "--kubeconfig", kubeconfig, ...extra];
    return { code: await runCommandLine(all, terminal), ...ended };
  }
}

/** Builds the Lease that permission-manager as a process would renew. */
function buildLease(): KubeObject {
  const metadata = { namespace: SYSTEM_NAMESPACE, name: SERVER_LEASES["permission-manager"] };
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  return { ...LEASE, metadata, spec: { holderIdentity: "test", leaseDurationSeconds: 86_400, renewTime } };
}

interface PublishedPackage {
  readonly recorded: RecordedPackage;
  /** The content of its bundle. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The package that it requires. */
  readonly dependency: string | undefined;
}

/** Pushes the bundle of a recorded package, and adds it to the catalog. @returns the catalog's objects of the package */
async function publish(cluster: TestCluster, world: OperatorWorld, { recorded, files, dependency }: PublishedPackage): Promise<unknown[]> {
  const { packageName, version, csv, channel } = recorded;
  const tag = `v${version.replaceAll("+", "_")}`;
  const image = `registry.example/${packageName}:${tag}`;
  const { digest } = await pushImage(cluster.registry, packageName, tag, { files: new Map(files) });
  world.bundle(`${packageName}:${tag}`, Object.fromEntries(files), digest);
  const properties =
    dependency === undefined ? [] : [{ type: "olm.package.required", value: { packageName: dependency, versionRange: ">=0.0.0" } }];
  await world.servePackage(
    contentFrom({ channels: { [channel]: [csv] }, bundles: [{ name: csv, version, image, properties }] }, packageName),
    packageName,
    CATALOG,
  );
  return [
    { schema: "olm.package", name: packageName, defaultChannel: channel },
    { schema: "olm.channel", package: packageName, name: channel, entries: [{ name: csv }] },
    {
      schema: "olm.bundle",
      package: packageName,
      name: csv,
      image,
      properties: [{ type: "olm.package", value: { packageName, version } }, ...properties],
    },
  ];
}

/** Returns the files of a recorded bundle. @param dependency the package that it requires, in place of its own dependencies */
async function readRecordedFiles(
  folder: string,
  { packageName, version }: RecordedPackage,
  dependency: string | undefined,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = await readBundleFiles(join(folder, "bundles", packageName, version));
  if (dependency === undefined) return files;
  const content = { dependencies: [{ type: "olm.package", value: { packageName: dependency, version: ">=0.0.0" } }] };
  return new Map([...files, ["metadata/dependencies.yaml", Buffer.from(JSON.stringify(content))]]);
}

/** Records every state of the Pod templates of Deployments, from a watch. */
export class TemplateWatch implements AsyncDisposable {
  /** Distinct templates by namespace and name, in order. */
  readonly templates = new Map<string, string[]>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(cluster: TestCluster) {
    this.#running = this.#run(cluster);
  }

  async #run({ client }: TestCluster): Promise<void> {
    const gvk = { apiVersion: "apps/v1", kind: "Deployment" };
    const { items, resourceVersion } = await client.list(gvk);
    for (const deployment of items) this.#add(deployment);
    try {
      for await (const { type, object } of client.watch(gvk, { resourceVersion, signal: this.#stop.signal }))
        if (type !== "BOOKMARK") this.#add(object);
    } catch (err) {
      if (!this.#stop.signal.aborted) throw err;
    }
  }

  #add({ metadata, ...object }: KubeObject): void {
    const { template } = (object as unknown as { spec?: { template?: unknown } }).spec ?? {};
    const [key, text] = [`${metadata.namespace}/${metadata.name}`, JSON.stringify(template)];
    const known = this.templates.get(key) ?? [];
    if (known.at(-1) !== text) this.templates.set(key, [...known, text]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
