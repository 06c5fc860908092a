import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { newClusterProxySource } from "../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OpenShift } from "../support/openShift.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const FIRST = { httpProxy: "http://user:s3cr3t@proxy:3128", noProxy: ".svc" };
const SECOND = { httpProxy: "http://user:s3cr3t-too@proxy:8080", httpsProxy: "http://proxy:8081", noProxy: ".svc" };
const OF_FIRST = ["HTTP_PROXY=http://user:s3cr3t@proxy:3128", "NO_PROXY=.svc"];
const OF_SECOND = ["HTTP_PROXY=http://user:s3cr3t-too@proxy:8080", "HTTPS_PROXY=http://proxy:8081", "NO_PROXY=.svc"];
const READER = { namespace: "olmv1-system", name: "operator-controller-controller-manager" };

// Source: S0-089, H-16.
describeWithPrivateCluster("the proxy of an OpenShift cluster", (cluster) => {
  const stop = new AbortController();
  let openShift: OpenShift;
  let world: OperatorWorld;
  let following: Promise<void>;

  beforeAll(async () => {
    openShift = new OpenShift(cluster.client);
    await openShift.install(["proxies"]);
    await openShift.setProxy(FIRST);
    const tokens = new ServiceAccountTokens(cluster.client);
    const client = cluster.client.withToken(tokens.tokenFor(READER.namespace, READER.name));
    const log = createLogger({ component: "test", level: "silent" });
    const clusterProxy = newClusterProxySource({ mode: "auto", given: {} }, { client, log });
    world = await OperatorWorld.start(cluster, { clusterProxy });
    await cluster.client.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: READER }, { fieldManager: "test" });
    following = clusterProxy.run(stop.signal);
    world.bundle("p.v1.0.0", tinyBundle("1.0.0"));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
  });
  afterAll(async () => {
    stop.abort();
    await following;
    await world?.[Symbol.asyncDispose]();
  });

  /** The permissions that `config/rbac` grants operator-controller. */
  const grantPermissions = async (): Promise<void> => {
    const text = readFileSync(join(import.meta.dirname, "../../config/rbac/operator-controller.yaml"), "utf8");
    for (const object of parseYamlDocuments(text) as KubeObject[])
      if (object.kind.startsWith("ClusterRole")) await cluster.client.apply(object, { fieldManager: "test", force: true });
  };
  /** Returns the environment of the Deployment's container, as "NAME=value". */
  const environment = async (name: string): Promise<string[]> => {
    const ref = { apiVersion: "apps/v1", kind: "Deployment", namespace: `${name}-system`, name: "tiny" };
    const { spec } = (await cluster.client.get(ref)) as unknown as { spec: { template: { spec: { containers: { env?: EnvVar[] }[] } } } };
    return (spec.template.spec.containers[0]?.env ?? []).map((variable) => `${variable.name}=${variable.value ?? ""}`);
  };
  const expectEnvironment = (name: string, want: readonly string[]): Promise<void> =>
    eventually(async () => expect(await environment(name)).toEqual(want), { timeoutMs: 60_000 });
  const expectReleases = (name: string, want: readonly string[]): Promise<void> =>
    eventually(async () => expect(await world.releases(name)).toEqual(want));
  const expectEvent = (name: string, text: string): Promise<void> =>
    eventually(async () => expect(await world.events(name)).toContainEqual(expect.stringContaining(text)));
  const configure = (name: string, inline: JsonObject | null): Promise<ClusterExtension> =>
    cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name },
      { spec: { config: inline && { configType: "Inline", inline } } },
      { type: "merge" },
    );
  const buildEnv = (name: string, value: string): JsonObject => ({ deploymentConfig: { env: [{ name, value }] } });

  test("an install succeeds without permission to read the proxy, and installed bundles get the proxy variables when the permission is granted", async () => {
    await world.extension("early");
    await world.conditions("early", DONE);
    const message =
      /^the cluster proxy is unknown \(Proxy "cluster" cannot be read: .*forbidden.*\): existing Deployments keep their proxy variables, new Deployments get none$/;
    await world.expectProblem("early", "ProxyWarning", { message });
    expect(await environment("early")).toEqual([]);
    await grantPermissions();
    await expectEnvironment("early", OF_FIRST);
    await expectEvent(
      "early",
      'ProxyChanged: updated the proxy variables of the Deployments to match the cluster (Proxy "cluster"): HTTP_PROXY set, NO_PROXY set',
    );
    await eventually(async () => expect((await world.conditions("early", DONE))["problems"]).toBe(""));
  });

  test("a change of the cluster proxy updates the variables of every Deployment in a new release, and status and Events contain no password", async () => {
    await openShift.setProxy(FIRST);
    await world.extension("follows");
    await world.conditions("follows", DONE);
    expect(await environment("follows")).toEqual(OF_FIRST);
    await openShift.setProxy(SECOND);
    await expectEnvironment("follows", OF_SECOND);
    await expectEvent("follows", "HTTP_PROXY changed, HTTPS_PROXY set");
    await expectReleases("follows", ["v1 superseded", "v2 deployed"]);
    await openShift.removeProxy();
    await expectEnvironment("follows", []);
    await expectEvent("follows", "(the cluster has no proxy): HTTP_PROXY removed, HTTPS_PROXY removed, NO_PROXY removed");
    await expectReleases("follows", ["v1 superseded", "v2 superseded", "v3 deployed"]);
    await expectEvent("follows", "Upgraded");
    const shown = JSON.stringify([await world.get("follows"), await world.events("follows")]);
    expect(shown).toContain("ProxyChanged");
    expect(shown).not.toContain("s3cr3t");
  });

  test("a proxy variable that the user sets, even to an empty value, replaces all variables of the cluster proxy", async () => {
    await openShift.setProxy(FIRST);
    await world.extension("own", { config: { configType: "Inline", inline: buildEnv("HTTPS_PROXY", "http://mine:1") } });
    await world.conditions("own", DONE);
    expect(await environment("own")).toEqual(["HTTPS_PROXY=http://mine:1"]);
    await openShift.setProxy(SECOND);
    await world.extension("other");
    await expectEnvironment("other", OF_SECOND);
    expect(await world.releases("own")).toEqual(["v1 deployed"]);
    expect(await environment("own")).toEqual(["HTTPS_PROXY=http://mine:1"]);
    await configure("own", buildEnv("HTTP_PROXY", ""));
    await expectEnvironment("own", ["HTTP_PROXY="]);
    await configure("own", null);
    await expectEnvironment("own", OF_SECOND);
    await expectReleases("own", ["v1 superseded", "v2 superseded", "v3 deployed"]);
    await expectEvent("own", "ProxyChanged");
    expect((await world.events("own")).filter((event) => event.startsWith("ProxyChanged"))).toHaveLength(1);
  });

  test("the password of the proxy is hidden in an error that quotes the proxy URL", async () => {
    await openShift.setProxy(FIRST);
    const metadata = { name: "quoting" };
    const [rule] = [{ apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] }];
    const value = "object.spec.template.spec.containers[0].env[0].value";
    const policy = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        matchConstraints: {
          resourceRules: [rule],
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "quoted-system" } },
        },
        validations: [{ expression: "false", messageExpression: `'no proxy such as ' + ${value}` }],
      },
    };
    await cluster.client.create(policy);
    await cluster.client.create({
      ...policy,
      kind: "ValidatingAdmissionPolicyBinding",
      spec: { policyName: "quoting", validationActions: ["Deny"] },
    });
    const labels = { app: "tried" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i", env: [{ name: "A", value: "b" }] }] } };
    const tried = { apiVersion: "apps/v1", kind: "Deployment", spec: { selector: { matchLabels: labels }, template } };
    await world.extension("quoted", {
      // The API server enforces a new policy with a delay.
      before: (namespace) =>
        eventually(() =>
          expect(cluster.client.create({ ...tried, metadata: { name: "tried", namespace } }, { dryRun: true })).rejects.toThrow("no proxy"),
        ),
    });
    await eventually(async () => {
      const { Progressing } = await world.conditions("quoted", { Installed: "False/Failed", Progressing: "True/Retrying" });
      expect(Progressing).toContain("no proxy such as http://[redacted]@proxy:3128");
    });
    await expectEvent("quoted", "no proxy such as http://[redacted]@proxy:3128");
    expect(JSON.stringify([(await world.get("quoted")).status, await world.events("quoted")])).not.toContain("s3cr3t");
  });

  test("a change of the proxy waits for approval when spec.approval is Manual", async () => {
    await openShift.setProxy(FIRST);
    await world.extension("manual");
    await expectEnvironment("manual", OF_FIRST);
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "manual" },
      { spec: { approval: "Manual" } },
      { type: "merge" },
    );
    await openShift.setProxy(SECOND);
    await world.conditions("manual", { Progressing: "False/AwaitingApproval" });
    expect(await environment("manual")).toEqual(OF_FIRST);
    expect(JSON.stringify((await world.get("manual")).status)).not.toContain("s3cr3t");
  });
});

interface EnvVar {
  name: string;
  value?: string;
}
