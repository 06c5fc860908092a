import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ServerName, ServerProcess } from "../../../pkg/devcluster/installation.ts";
import { renderTokenKubeconfig } from "../../../pkg/devcluster/kubeconfig.ts";
import { findFreePorts } from "../../../pkg/devcluster/processes.ts";
import { ServiceAccountTokens } from "../../../pkg/kube/tokens.ts";
import { type TestCluster } from "../cluster.ts";
import { eventually } from "../eventually.ts";
import { formatRegistriesConf } from "../pushedImages.ts";
import { serverCertificate } from "../serverCertificate.ts";
import { type ServerDeployment } from "./clusterOlmOperator.ts";

/** The servers of Deployments as processes, with the arguments, the variables and the permissions of their containers. */
export class RenderedServers {
  /** Base URL of the probes of each server. */
  readonly probes = new Map<string, string>();
  readonly unexpectedEnds: string[] = [];
  readonly #cluster: TestCluster;
  readonly #folder: string;
  readonly #running: ServerProcess[] = [];

  private constructor(cluster: TestCluster, folder: string) {
    this.#cluster = cluster;
    this.#folder = folder;
  }

  /** Starts the server of each Deployment, and waits until all are ready. @param folder for the files that the Pods mount */
  static async start(cluster: TestCluster, folder: string, deployments: readonly ServerDeployment[]): Promise<RenderedServers> {
    const servers = new RenderedServers(cluster, folder);
    const [content = 0, ...ports] = await findFreePorts(1 + 2 * deployments.length);
    const certificate = await serverCertificate("127.0.0.1");
    for (const [index, deployment] of deployments.entries()) {
      const [probes, metrics] = [ports[2 * index] ?? 0, ports[2 * index + 1] ?? 0];
      await servers.#start(deployment, { content, probes, metrics, certificate });
    }
    await eventually(
      async () => {
        for (const [name, url] of servers.probes) {
          const response = await fetch(`${url}/readyz`).catch(() => undefined);
          if (response?.status !== 200)
            throw new Error(`${name} is not ready: ${await response?.text()}\n${servers.unexpectedEnds.join("\n")}`);
        }
      },
      { timeoutMs: 60_000 },
    );
    return servers;
  }

  /** Returns a metric of a server: its line that starts with `prefix`. */
  async metric(server: string, prefix: string): Promise<string | undefined> {
    const text = await (await fetch(`${this.probes.get(server)}/metrics`)).text();
    return text.split("\n").find((line) => line.startsWith(prefix));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((server) => server.stop()));
  }

  async #start(
    { metadata, spec }: ServerDeployment,
    {
      content,
      probes,
      metrics,
      certificate,
    }: { content: number; probes: number; metrics: number; certificate: { cert: string; key: string } },
  ): Promise<void> {
    const name = metadata.name.replace(/-controller-manager$/, "") as ServerName;
    const [container] = spec.template.spec.containers;
    const [program, ...args] = container?.args ?? [];
    if (program !== `/app/${name}.js`) throw new Error(`Deployment ${metadata.name} starts ${program}`);
    const root = join(this.#folder, name);
    const path = (file: string): string => join(root, file);
    await this.#mount(path, certificate);
    const tokens = new ServiceAccountTokens(this.#cluster.client);
    const token = await tokens.tokenFor(metadata.namespace ?? "", metadata.name)();
    await writeFile(path("token"), token, { mode: 0o600 });
    await writeFile(path("kubeconfig"), await renderTokenKubeconfig(this.#cluster.kubeconfig, path("token")), { mode: 0o600 });
    // Only addresses and files of this machine replace those of the Pod.
    const local = [`--kubeconfig=${path("kubeconfig")}`, `--health-probe-bind-address=127.0.0.1:${probes}`];
    local.push(`--registries-conf=${path("registries.conf")}`, `--signature-policy=${path("policy.json")}`);
    if (name !== "permission-manager")
      local.push(`--metrics-bind-address=127.0.0.1:${metrics}`, `--service-account-token=${path("token")}`);
    if (name === "catalogd")
      local.push(`--catalogs-server-addr=127.0.0.1:${content}`, `--external-address=127.0.0.1:${content}`, "--shutdown-delay=0");
    this.probes.set(name, `http://127.0.0.1:${probes}`);
    this.#running.push(
      new ServerProcess({
        name,
        args: [...args.map((arg) => arg.replace(/=\/(etc|var)\//, `=${root}/$1/`)), ...local],
        programs: this.#cluster.programs,
        env: Object.fromEntries((container?.env ?? []).map((one) => [one.name, one.value])),
        logFile: path("log"),
        onLine: () => undefined,
        onExit: (text) => this.unexpectedEnds.push(text),
      }),
    );
  }

  /** Writes the files of the volumes, and the registries of the test. */
  async #mount(path: (file: string) => string, { cert, key }: { cert: string; key: string }): Promise<void> {
    const { host } = this.#cluster.registry;
    const redHat = `[[registry]]\nprefix = "registry.redhat.io"\nlocation = "${host}"\ninsecure = true\n`;
    const files = {
      "etc/olmv1/tls/tls.crt": cert,
      "etc/olmv1/tls/tls.key": key,
      "etc/olmv1/catalogd/ca.crt": cert,
      "etc/olmv1/authorities/ca-bundle.crt": cert,
      "registries.conf": formatRegistriesConf(host) + redHat,
      "policy.json": '{"default":[{"type":"insecureAcceptAnything"}]}',
    };
    for (const [file, text] of Object.entries(files)) {
      await mkdir(join(path(file), ".."), { recursive: true });
      await writeFile(path(file), text);
    }
  }
}
