import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { API_VERSION, GROUP, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { TOKEN_HEADER } from "../../pkg/consoleapi/session.ts";
import { renderTokenKubeconfig } from "../../pkg/devcluster/kubeconfig.ts";
import { POD_OUTCOME_ANNOTATION } from "../../pkg/devcluster/podSimulation.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { ConnectProxy } from "../support/connectProxy.ts";
import { LoopbackRegistry } from "../support/loopbackRegistry.ts";
import { applyServingSecrets } from "../support/manifests.ts";
import { ProgramProcess } from "../support/programProcess.ts";
import { type Replica, Replicas } from "../support/replicas.ts";
import { serverCertificate } from "../support/serverCertificate.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { machineAddress } from "../support/servingPod.ts";
import { TempFolder } from "../support/tempFolder.ts";

const SERVICE = "catalogd-service";
const HOST = `${SERVICE}.${SYSTEM_NAMESPACE}.svc`;
const READ = [{ apiGroups: [GROUP], resources: ["clusterextensions", "clustercatalogs"], verbs: ["get", "list", "watch"] }];
/** Exactly the permission that docs/how-to/console.md lists. */
const PROXY = { apiGroups: [""], resources: ["services/proxy"], resourceNames: [`https:${SERVICE}:443`], verbs: ["get"] };
const CANARY = '"><script>document.title="run"</script>';

const packageOf = (name: string): string =>
  [
    { schema: "olm.package", name, defaultChannel: "stable" },
    { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1.0.0` }] },
    {
      schema: "olm.bundle",
      package: name,
      name: `${name}.v1.0.0`,
      image: `quay.io/test/${name}@sha256:${"0".repeat(64)}`,
      properties: [
        { type: "olm.package", value: { packageName: name, version: "1.0.0" } },
        { type: "olm.csv.metadata", value: { displayName: CANARY, description: CANARY } },
      ],
    },
  ]
    .map((meta) => `${JSON.stringify(meta)}\n`)
    .join("");

/** A console, and the headers of requests of its pages. */
interface RunningConsole {
  readonly program: ProgramProcess;
  readonly get: (path: string) => Promise<{ status: number; body: unknown }>;
}

describeWithPrivateCluster("catalogs that the console reads", (cluster) => {
  const folder = new TempFolder();
  const resources = new AsyncDisposableStack();
  let registry: LoopbackRegistry;
  let replica: Replica;
  let proxy: ConnectProxy;
  let contentPort: number;
  let namespace: string;
  /** Folder with the CA of catalogd. */
  let cas: string;

  beforeAll(async () => {
    registry = await LoopbackRegistry.start();
    const replicas = resources.adopt(await Replicas.start(cluster, "catalogd"), (one) => one.stop());
    const [port = 0, metrics = 0] = await findFreePorts(2);
    contentPort = port;
    const flags = ["--serving-certificates=self-managed", `--metrics-bind-address=127.0.0.1:${metrics}`];
    flags.push(`--external-address=${HOST}`, `--catalogs-server-addr=0.0.0.0:${port}`);
    await applyServingSecrets(cluster.client);
    replica = await replicas.add("catalogd", flags, { registry: registry.host });
    await replicas.ready(replica);
    await serveThroughService();
    const secret = await cluster.client.get({
      apiVersion: "v1",
      kind: "Secret",
      namespace: SYSTEM_NAMESPACE,
      name: "catalogd-serving-cert",
    });
    const { "ca.crt": ca = "" } = (secret?.["data"] ?? {}) as Record<string, string>;
    cas = folder.write("cas", { "ca.crt": Buffer.from(ca, "base64").toString() });
    folder.write("", { "registries.conf": `[[registry]]\nprefix = "quay.io"\nlocation = "${registry.host}"\ninsecure = true\n` });
    proxy = await ConnectProxy.start(() => contentPort);
    namespace = await cluster.namespace("console-catalogs");
    await serviceAccount(cluster.client, namespace, "reader", [...READ, PROXY]);
    await serviceAccount(cluster.client, namespace, "viewer", READ);
    await serviceAccount(cluster.client, namespace, "stranger", []);
    await publish("one", packageOf("first"));
  });
  afterAll(async () => {
    await resources.disposeAsync();
    proxy?.stop();
    await registry?.stop();
    folder[Symbol.dispose]();
  });

  /** Creates the Service of catalogd, and a Pod with the address of this machine. The proxy of the API server only connects to Pods. */
  async function serveThroughService(): Promise<void> {
    const metadata = { name: SERVICE, namespace: SYSTEM_NAMESPACE };
    const pod = { apiVersion: "v1", kind: "Pod", ...metadata };
    const securityContext = {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    };
    await cluster.client.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, annotations: { [POD_OUTCOME_ANNOTATION]: "Pending" } },
      spec: {
        serviceAccountName: "catalogd-controller-manager",
        automountServiceAccountToken: false,
        containers: [{ name: "manager", image: "olmv1", securityContext }],
      },
    });
    const ip = machineAddress();
    await cluster.client.patch(pod, { status: { podIP: ip, podIPs: [{ ip }] } }, { type: "merge", subresource: "status" });
    const ports = [{ name: "catalogs", port: 443, targetPort: contentPort, protocol: "TCP" }];
    await cluster.client.create({ apiVersion: "v1", kind: "Service", metadata, spec: { ports } });
    const targetRef = { kind: "Pod", ...metadata };
    const subsets = [{ addresses: [{ ip, targetRef }], ports: [{ name: "catalogs", port: contentPort, protocol: "TCP" }] }];
    await cluster.client.create({ apiVersion: "v1", kind: "Endpoints", metadata, subsets });
  }

  /** Publishes an edition of the catalog, and waits until catalogd serves it. */
  async function publish(tag: string, text: string): Promise<void> {
    const { digest } = await pushImage({ host: registry.host, insecure: true }, "test/catalog", tag, {
      files: new Map([["configs/catalog.json", Buffer.from(text)]]),
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    const source = { type: "Image", image: { ref: `quay.io/test/catalog:${tag}` } };
    const catalog = { apiVersion: API_VERSION, kind: "ClusterCatalog", metadata: { name: "main" }, spec: { source } };
    await cluster.client.apply(catalog, { fieldManager: "test", force: true });
    await eventually(
      async () => {
        const live = await cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: "main" });
        expect(live?.status).toMatchObject({
          urls: { base: `https://${HOST}/catalogs/main` },
          resolvedSource: { image: { ref: `quay.io/test/catalog@${digest}` } },
        });
      },
      { timeoutMs: 120_000 },
    );
  }

  const tokenOf = (name: string): Promise<string> => new ServiceAccountTokens(cluster.client).tokenFor(namespace, name)();

  /** Starts `olmv1 ui` with the kubeconfig of a user. @param cache name of its cache folder */
  async function startUi(user: string, cache = user): Promise<RunningConsole> {
    const files = folder.write(`ui-${user}`, { token: await tokenOf(user) });
    const kubeconfig = join(files, "kubeconfig");
    folder.write(`ui-${user}`, { kubeconfig: await renderTokenKubeconfig(cluster.kubeconfig, join(files, "token")) });
    const args = ["ui", "--no-open", `--kubeconfig=${kubeconfig}`, `--registries-conf=${join(folder.path, "registries.conf")}`];
    const env = { ...process.env, XDG_CACHE_HOME: join(folder.path, `cache-${cache}`) };
    const program = resources.use(new ProgramProcess([join(cluster.programs, "olmv1.js"), ...args], env));
    const [, url = "", token = ""] = await program.find(/^Console: (http:\/\/[^/]+)\/login#(\S+)$/m);
    const body = JSON.stringify({ token });
    const response = await fetch(`${url}/api/login`, { method: "POST", headers: { "content-type": "application/json" }, body });
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
    return { program, get: createGet(url, { cookie, [TOKEN_HEADER]: ((await response.json()) as { token: string }).token }) };
  }

  /** Starts the console of a cluster. Returns it for a user. */
  async function startInCluster(name: string, casDir: string): Promise<(user: string) => Promise<RunningConsole["get"]>> {
    const ca = (await Credentials.fromKubeConfig(cluster.kubeconfig).endpoint()).tls.ca ?? "";
    const files = folder.write(`console-${name}`, { "ca.crt": String(ca) });
    // The proxy connects the name of the Service, which has no DNS here, to catalogd.
    const env = { ...process.env, HTTPS_PROXY: proxy.url };
    const program = resources.use(
      new ProgramProcess(
        [
          join(cluster.programs, "console.js"),
          "--bind-address=127.0.0.1:0",
          "--health-probe-bind-address=127.0.0.1:0",
          `--api-server=${cluster.server}`,
          `--api-server-ca-file=${join(files, "ca.crt")}`,
          `--catalogd-cas-dir=${casDir}`,
          `--registries-conf=${join(folder.path, "registries.conf")}`,
          `--cache-dir=${join(files, "cache")}`,
          "--shutdown-delay=0s",
        ],
        env,
      ),
    );
    const [, port = ""] = await program.find(/"port":(\d+)\}/);
    return async (user) =>
      createGet(`http://127.0.0.1:${port}`, { authorization: `Bearer ${await tokenOf(user)}`, [TOKEN_HEADER]: "none" });
  }

  function createGet(url: string, headers: Record<string, string>): RunningConsole["get"] {
    return async (path) => {
      const response = await fetch(url + path, { headers });
      return { status: response.status, body: await response.json() };
    };
  }
  const packagesOf = async (get: RunningConsole["get"]): Promise<unknown> => {
    const { body } = await get("/api/packages");
    const { items, leftOut } = body as { items: { package: string }[]; leftOut: unknown[] };
    return [items.map((one) => one.package), leftOut];
  };

  test("olmv1 ui reads the image, and reports the missing permission, when the user may not get services/proxy", async () => {
    const { get } = await startUi("viewer");
    expect(await packagesOf(get)).toEqual([["first"], []]);
    expect((await get("/api/catalogs/main/origin")).body).toEqual({
      from: "registry",
      because: expect.stringMatching(/^status 403: .*services\/proxy.* in the namespace "olmv1-system"/) as string,
    });
    expect((await get("/api/catalogs/main/findings")).body).toMatchObject({
      unavailable: expect.stringContaining("get services/proxy") as string,
    });
  });

  test("olmv1 ui reads each edition from catalogd through the API server, and nothing from the registry", async () => {
    const before = registry.requests.length;
    const { get } = await startUi("reader");
    expect(await packagesOf(get)).toEqual([["first"], []]);
    expect((await get("/api/catalogs/main/origin")).body).toEqual({ from: "catalogd" });
    expect((await get("/api/catalogs/main/findings")).body).toMatchObject({ findings: [] });
    expect((await get("/api/packages/first")).body).toMatchObject({ package: "first", catalog: "main" });
    expect((await get("/api/packages/first/graph")).status).toBe(200);
    expect(registry.requests).toHaveLength(before);
    await publish("two", packageOf("second"));
    await registry.stop();
    await eventually(async () => expect(await packagesOf(get)).toEqual([["second"], []]));
    const { body } = await get("/api/catalogs/main/difference");
    const { differences } = body as { differences: { change: string; package: string }[] };
    expect(differences.map((one) => [one.change, one.package])).toEqual([
      ["removed", "first"],
      ["added", "second"],
    ]);
  });

  test("the next olmv1 ui shows the packages without a registry, and both reasons to a user without permission", async () => {
    expect(await packagesOf((await startUi("reader", "new")).get)).toEqual([["second"], []]);
    const [items, leftOut] = (await packagesOf((await startUi("viewer", "new-viewer")).get)) as [unknown, { reason: string }[]];
    expect([items, leftOut.length]).toEqual([[], 1]);
    expect(leftOut[0]?.reason).toMatch(/^cannot read it from catalogd: status 403: .*; cannot read its image: .*ECONNREFUSED/);
  });

  test("the console in the cluster reads catalogd itself, only with the CA, and only for users who may list catalogs", async () => {
    const console = await startInCluster("trusting", cas);
    const viewer = await console("viewer");
    expect(await packagesOf(viewer)).toEqual([["second"], []]);
    expect((await viewer("/api/catalogs/main/origin")).body).toEqual({ from: "catalogd" });
    expect((await viewer("/api/catalogs/main/findings")).body).toMatchObject({ findings: [] });
    expect(proxy.seen).toContain(`${HOST}:443`);
    const stranger = await console("stranger");
    for (const path of ["/api/packages", "/api/packages/second", "/api/catalogs/main/origin", "/api/catalogs/main/findings"])
      expect([path, await stranger(path)]).toMatchObject([path, { status: 403, body: { kind: "forbidden" } }]);
    const { cert } = await serverCertificate(HOST);
    const wary = await (await startInCluster("wary", folder.write("other-cas", { "ca.crt": cert })))("viewer");
    expect((await wary("/api/catalogs/main/origin")).body).toEqual({
      from: "nowhere",
      because: expect.stringContaining("certificate signed by unknown authority") as string,
    });
  });

  test("consoles keep the content that they have when catalogd stops, and report the reason for content that they do not have", async () => {
    const reader = await startUi("reader", "kept");
    const viewer = await (await startInCluster("kept", cas))("viewer");
    for (const get of [reader.get, viewer]) expect(await packagesOf(get)).toEqual([["second"], []]);
    await replica.process.stop();
    for (const get of [reader.get, viewer]) expect(await packagesOf(get)).toEqual([["second"], []]);
    const late = [(await startUi("reader", "late")).get, await (await startInCluster("late", cas))("viewer")];
    for (const get of late) {
      expect((await get("/api/catalogs/main/origin")).body).toEqual({
        from: "nowhere",
        because: expect.stringContaining("cannot read it from catalogd: ") as string,
      });
    }
  });
});
