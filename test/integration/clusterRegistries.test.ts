import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { ClusterRegistries } from "../../pkg/controller/clusterRegistries.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { EventRecorder } from "../../pkg/kube/events.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { CatalogdAtWork } from "../support/catalogdAtWork.ts";
import { ClosedRegistry, PASSWORD } from "../support/closedRegistry.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OpenShift } from "../support/openShift.ts";
import { expectProblem } from "../support/problems.ts";
import { puller } from "../support/pulling.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { serverCertificate } from "../support/serverCertificate.ts";

const signal = new AbortController().signal;
const files = new Map([["a", Buffer.from("1")]]);
const SERVER = { namespace: "olmv1-system", name: "operator-controller-controller-manager" };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", namespace: SERVER.namespace, name: "olmv1-registries" } as const;
/** Limit for the effect of a change. */
const EFFECT_MS = 2_000;
/** Time after which watches are open. */
const OPEN_MS = 500;
const CATALOG_LABEL = "operators.operatorframework.io.index.configs.v1";
const PACKAGE =
  "schema: olm.package\nname: p\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: p\nname: stable\nentries: [{name: p.v1}]\n";

describeWithPrivateCluster("registry settings of a cluster", (cluster) => {
  const stops: (() => Promise<void>)[] = [];
  let openShift: OpenShift;
  let client: Client;
  let source: RegistryProxy;
  let mirror: RegistryProxy;
  let digest: string;

  beforeAll(async () => {
    await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SERVER.namespace } }, { fieldManager: "test" });
    await cluster.client.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: SERVER }, { fieldManager: "test" });
    client = cluster.client.withToken(new ServiceAccountTokens(cluster.client).tokenFor(SERVER.namespace, SERVER.name));
    openShift = new OpenShift(cluster.client);
    ({ digest } = await pushImage(cluster.registry, "ns/app", "v1", { files }));
    source = await RegistryProxy.start(cluster.registry.host);
    mirror = await RegistryProxy.start(cluster.registry.host);
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });
  afterAll(async () => {
    await source?.[Symbol.asyncDispose]();
    await mirror?.[Symbol.asyncDispose]();
  });

  /** Follows the settings as operator-controller, with its permissions only. */
  async function follow() {
    const logged: string[] = [];
    const log = createLogger({ component: "test", level: "info", destination: { write: (line) => void logged.push(line) } });
    const registries = new ClusterRegistries({ client, configMap: CONFIG_MAP, log });
    const stop = new AbortController();
    const running = registries.run(stop.signal);
    stops.push(async () => {
      // Until the watches are open: undici reports a request that is aborted before its response when the connection closes.
      await sleep(OPEN_MS);
      stop.abort();
      await running;
    });
    await registries.settings(AbortSignal.timeout(30_000));
    const problems = async (): Promise<string[]> =>
      (await registries.settings(signal)).problems.map(({ origin, message }) => `${origin}: ${message}`);
    return { registries, logged, problems };
  }

  /** Returns a function that pulls the image with an empty cache, and reports which registries were asked and the outcome. */
  function pulls(cluster: ClusterRegistries): (by: "tag" | "digest") => Promise<string> {
    return async (by) => {
      const { puller: p } = await puller({ cluster });
      for (const proxy of [source, mirror]) proxy.requests.length = 0;
      const reference = `${source.host}/ns/app${by === "tag" ? ":v1" : `@${digest}`}`;
      const outcome = await p.pull("ext", reference, { signal }).then(
        () => "pulled",
        (err: Error) => err.message.replaceAll(source.host, "SOURCE").replaceAll(mirror.host, "MIRROR"),
      );
      const asked = [source, mirror].filter((proxy) => proxy.count("manifest", "ns/app") > 0);
      return `${asked.map((proxy) => (proxy === source ? "source" : "mirror")).join("+")}: ${outcome}`;
    };
  }

  const takesEffect = (look: () => Promise<void> | void): Promise<void> => eventually(look, { timeoutMs: EFFECT_MS });

  /** Grants what config/rbac grants for the ConfigMap. */
  async function grantConfigMap(): Promise<void> {
    const text = await readFile(join(import.meta.dirname, "../../config/rbac/operator-controller.yaml"), "utf8");
    for (const object of parseYamlDocuments(text) as KubeObject[])
      if (object.metadata.namespace === SERVER.namespace && object.kind.startsWith("Role"))
        await cluster.client.apply(object, { fieldManager: "test", force: true });
  }

  const setConfigMap = (data: Record<string, string>): Promise<KubeObject> => {
    const { name, namespace, ...gvk } = CONFIG_MAP;
    return cluster.client.apply({ ...gvk, metadata: { name, namespace }, data }, { fieldManager: "test", force: true });
  };

  test("a cluster without these kinds has no settings, and needs no permission except for the ConfigMap", async () => {
    const denied = await follow();
    expect(await denied.problems()).toEqual([
      expect.stringMatching(/^ConfigMap "olmv1-system\/olmv1-registries": cannot be read: .*forbidden/),
    ]);
    await grantConfigMap();
    const { registries, problems, logged } = await follow();
    expect([await problems(), (await registries.settings(signal)).entries]).toEqual([[], []]);
    expect(logged.filter((line) => /"level":"?(warn|error)/.test(line))).toEqual([]);
  });

  test("the ConfigMap is followed, and its last valid content is used while it is invalid, with an Event that says what is wrong", async () => {
    const { registries, problems } = await follow();
    registries.recordEvents(new EventRecorder(client, { component: "test", log: createLogger({ component: "test", level: "silent" }) }));
    const pull = pulls(registries);
    const conf = `[[registry]]\nlocation = "${source.host}"\nblocked = true\n[[registry.mirror]]\nlocation = "${mirror.host}"\ninsecure = true\n`;
    await setConfigMap({ "registries.conf": conf });
    await takesEffect(async () => expect(await pull("tag")).toBe("mirror: pulled"));
    await setConfigMap({ "registries.conf": `${conf}[[registry]]\nlocation = "https://user:${PASSWORD}@x"\n` });
    await takesEffect(async () => expect(await problems()).toHaveLength(1));
    const [problem = ""] = await problems();
    expect(problem).toContain('ConfigMap "olmv1-system/olmv1-registries": registries.conf: invalid location');
    expect(problem).toMatch(/its last valid content is used$/);
    expect(problem).not.toContain(PASSWORD);
    expect(await pull("tag")).toBe("mirror: pulled");
    await eventually(async () => {
      const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Event" }, { namespace: SERVER.namespace });
      const own = items.filter(({ involvedObject }) => (involvedObject as { name?: string } | undefined)?.name === CONFIG_MAP.name);
      expect(own.map(({ reason, message }) => [reason, message])).toEqual([
        ["RegistrySettingsInvalid", expect.stringContaining("registries.conf: invalid location")],
      ]);
    });
    const restarted = await follow();
    expect(await pulls(restarted.registries)("tag")).toMatch(
      /^: error creating image source: loading registries configuration in ConfigMap "olmv1-system\/olmv1-registries": registries.conf: invalid location/,
    );
    await cluster.client.delete(CONFIG_MAP);
    await takesEffect(async () => expect(await problems()).toEqual([]));
    expect(await pull("tag")).toContain("http: server gave HTTP response to HTTPS client");
  });

  /** Grants the server to read Image `cluster`, without the mirror sets. */
  async function grantImage(): Promise<void> {
    const gvk = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "image-reader" } };
    const rule = { apiGroups: ["config.openshift.io"], resources: ["images"], resourceNames: ["cluster"], verbs: ["list", "watch"] };
    await cluster.client.apply({ ...gvk, kind: "ClusterRole", rules: [rule] }, { fieldManager: "test" });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: gvk.metadata.name };
    const subjects = [{ kind: "ServiceAccount", ...SERVER }];
    await cluster.client.apply({ ...gvk, kind: "ClusterRoleBinding", roleRef, subjects }, { fieldManager: "test" });
  }

  test("mirror sets that cannot be read are reported, and pulls continue if Image cluster can be read", async () => {
    await openShift.installRegistries();
    const { registries, problems } = await follow();
    expect(await problems()).toEqual(
      ["ImageDigestMirrorSet objects", "ImageTagMirrorSet objects", "ImageContentSourcePolicy objects", 'Image "cluster"'].map((origin) =>
        expect.stringMatching(new RegExp(`^${origin}: cannot be read: .*forbidden`)),
      ),
    );
    expect(await pulls(registries)("tag")).toMatch(/^: .*Source image rejected: Image "cluster" cannot be read, and may block registries/);
    await grantImage();
    await eventually(async () => {
      const permitted = await follow();
      expect(await permitted.problems()).toHaveLength(3);
      expect(await pulls(permitted.registries)("tag")).toContain("http: server gave HTTP response to HTTPS client");
    });
  });

  describe("with the permissions in config/openshift", () => {
    beforeAll(async () => {
      await grantConfigMap();
      await openShift.installRegistries();
      await openShift.grantRegistries();
    });

    test("ImageDigestMirrorSets, ImageTagMirrorSets and ImageContentSourcePolicies take effect within two seconds, and when they are deleted", async () => {
      await openShift.setImage({ registrySources: { insecureRegistries: [source.host, mirror.host] } });
      const { registries, problems } = await follow();
      const pull = pulls(registries);
      const both = async (): Promise<string[]> => [await pull("tag"), await pull("digest")];
      await eventually(async () => expect(await both()).toEqual(["source: pulled", "source: pulled"]));
      for (const [kind, want] of [
        ["ImageDigestMirrorSet", ["source: pulled", "mirror: pulled"]],
        ["ImageTagMirrorSet", ["mirror: pulled", "source: pulled"]],
        ["ImageContentSourcePolicy", ["source: pulled", "mirror: pulled"]],
      ] as const) {
        await openShift.setMirrors(kind, "m", { [source.host]: { mirrors: [mirror.host] } });
        await takesEffect(async () => expect(await both()).toEqual(want));
        await openShift.removeMirrors(kind, "m");
        await takesEffect(async () => expect(await both()).toEqual(["source: pulled", "source: pulled"]));
      }
      expect(await problems()).toEqual([]);
    });

    test("NeverContactSource blocks the source even if the mirror lacks the image, and the error names the object", async () => {
      const { registries } = await follow();
      const pull = pulls(registries);
      const set = { mirrors: [`${mirror.host}/other`], mirrorSourcePolicy: "NeverContactSource" } as const;
      await openShift.setMirrors("ImageDigestMirrorSet", "never", { [`${source.host}/ns`]: set });
      await takesEffect(async () =>
        expect(await pull("digest")).toMatch(/^: .*registry SOURCE\/ns is blocked in ImageDigestMirrorSet "never"$/s),
      );
      expect(source.requests).toEqual([]);
      await openShift.removeMirrors("ImageDigestMirrorSet", "never");
    });

    test("blocked registries and registries that are not allowed are not contacted, and both lists at once are reported", async () => {
      const { registries, problems } = await follow();
      const pull = pulls(registries);
      const insecureRegistries = [source.host, mirror.host];
      await openShift.setImage({ registrySources: { insecureRegistries, blockedRegistries: [`${source.host}/ns`] } });
      await takesEffect(async () => expect(await pull("tag")).toMatch(/^: .*Source image rejected: .*Image "cluster" blocks "SOURCE\/ns"/));
      await openShift.setImage({ registrySources: { insecureRegistries, allowedRegistries: ["quay.io"] } });
      await takesEffect(async () =>
        expect(await pull("digest")).toMatch(/^: .*allowedRegistries of Image "cluster" does not contain registry SOURCE$/),
      );
      await openShift.setImage({
        registrySources: { insecureRegistries, allowedRegistries: [source.host], blockedRegistries: ["quay.io"] },
      });
      await takesEffect(async () => expect(await pull("tag")).toBe("source: pulled"));
      expect(await problems()).toEqual([expect.stringContaining("sets both allowedRegistries and blockedRegistries")]);
      await openShift.setImage({ registrySources: { insecureRegistries } });
    });

    test("certificate authorities of Image cluster are trusted, and a missing or invalid ConfigMap is reported", async () => {
      const certificate = await serverCertificate("127.0.0.1");
      await using registry = await ClosedRegistry.start(certificate);
      await pushImage(registry.target, "ns/tls", "v1", { files });
      const { registries, problems } = await follow();
      const name = await openShift.setAuthorities({ "registry.example.com": "not PEM" });
      await openShift.setAuthorities(undefined);
      await openShift.setImage({ additionalTrustedCA: { name } });
      await takesEffect(async () => expect(await problems()).toEqual([expect.stringContaining("it does not exist, but Image")]));
      await openShift.setAuthorities({ "registry.example.com": `not PEM ${PASSWORD}` });
      await takesEffect(async () =>
        expect(await problems()).toEqual([
          'ConfigMap "openshift-config/registry-authorities": key "registry.example.com" contains no certificate in PEM',
        ]),
      );
      const auths = { [registry.host]: { username: "user", password: PASSWORD } };
      const pull = async (): Promise<unknown> => {
        const { puller: p } = await puller({ cluster: registries, auths });
        return p.pull("ext", `${registry.host}/ns/tls:v1`, { signal }).then(
          () => "pulled",
          (err: Error) => err.message,
        );
      };
      expect(await pull()).toContain("x509: certificate signed by unknown authority");
      await openShift.setAuthorities({ [registry.host.replace(":", "..")]: certificate.cert });
      await takesEffect(async () => expect(await problems()).toEqual([]));
      expect(await pull()).toBe("pulled");
      await openShift.setImage({ registrySources: {} });
    });

    test("a failing catalog is retried within two seconds of a new mirror, and its problem lists the locations", async () => {
      await cluster.installCrds();
      const { registries } = await follow();
      const content = new Map([["configs/c.yaml", Buffer.from(PACKAGE)]]);
      await pushImage(cluster.registry, "ns/catalog", "v1", { files: content, labels: { [CATALOG_LABEL]: "/configs" } });
      await openShift.setImage({ registrySources: { insecureRegistries: [mirror.host, source.host] } });
      await source.down();
      await using catalogd = await CatalogdAtWork.start(cluster, "", { cluster: registries });
      registries.onChange(() => catalogd.controller.retryFailing());
      const reference = `${source.host}/ns/catalog:v1`;
      await openShift.setMirrors("ImageTagMirrorSet", "wrong", { [source.host]: { mirrors: [`${mirror.host}/wrong`] } });
      await catalogd.apply("c", reference);
      const from = 'Image "cluster", ImageTagMirrorSet "wrong"';
      await eventually(async () => {
        const { catalog } = await catalogd.progressing("c", "Retrying");
        expectProblem(catalog, "RegistryUnavailable", {
          details: [
            { reference: `${mirror.host}/wrong/ns/catalog:v1`, from, message: expect.stringContaining("manifest unknown") },
            { reference, message: expect.stringContaining("connect ECONNREFUSED") },
          ],
        });
      });
      await openShift.setMirrors("ImageTagMirrorSet", "right", { [`${source.host}/ns`]: { mirrors: [`${mirror.host}/ns`] } });
      await takesEffect(() => expect(mirror.count("manifest", "ns/catalog")).toBeGreaterThan(0));
      await catalogd.progressing("c", "Succeeded");
      await catalogd.remove("c");
      await source.up();
      await catalogd.apply("missing", `${source.host}/other/missing:v1`);
      const { catalog } = await catalogd.progressing("missing", "Retrying");
      expectProblem(catalog, "ImagePullFailed", {
        details: [
          { reference: `${mirror.host}/wrong/other/missing:v1`, from, message: expect.stringContaining("manifest unknown") },
          { reference: `${source.host}/other/missing:v1`, message: expect.stringContaining("manifest unknown") },
        ],
      });
      await catalogd.remove("missing");
      for (const name of ["wrong", "right"]) await openShift.removeMirrors("ImageTagMirrorSet", name);
    });
  });
});
