import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { createPullSecretGauge, PullSecrets, type PullSecretsOptions } from "../../pkg/controller/pullSecrets.ts";
import { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics, type Metrics } from "../../pkg/telemetry/metrics.ts";
import { ClosedRegistry, PASSWORD } from "../support/closedRegistry.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { insecureRegistry, puller } from "../support/pulling.ts";

const signal = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const right = { username: "user", password: PASSWORD };
const wrong = { username: "user", password: "guess" };

describeWithCluster("pull secrets", (cluster) => {
  let registry: ClosedRegistry;
  let namespace: string;
  let elsewhere: string;
  let logged: string[];
  let metrics: Metrics;
  let changes: number;
  let stop: AbortController;
  let running: Promise<void>;

  beforeAll(async () => {
    registry = await ClosedRegistry.start();
    await pushImage(registry.target, "ns/app", "v1", { files: new Map([["a", Buffer.from("1")]]) });
  });
  afterAll(() => registry?.[Symbol.asyncDispose]());

  beforeEach(async () => {
    [namespace, elsewhere] = [await cluster.namespace("pull"), await cluster.namespace("global")];
    [logged, changes, stop, metrics] = [[], 0, new AbortController(), createMetrics("test")];
    await account([]);
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  /** Sets the imagePullSecrets of the ServiceAccount. */
  async function account(names: readonly string[]): Promise<void> {
    const imagePullSecrets = names.map((name) => ({ name }));
    const object = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "puller", namespace }, imagePullSecrets };
    if (!(await cluster.client.get({ ...object, name: "puller", namespace }))) await cluster.client.create(object);
    else
      await cluster.client.patch(
        { ...object, name: "puller", namespace },
        { imagePullSecrets: names.length > 0 ? imagePullSecrets : null },
        { type: "merge" },
      );
  }

  /** Creates a pull secret with this data, valid or not. */
  async function secret(name: string, data: Record<string, string>, place = namespace): Promise<KubeObject> {
    const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: place }, type: "Opaque", data: encoded };
    return cluster.client.apply(object, { fieldManager: "test", force: true });
  }
  const config = (entry: object): Record<string, string> => ({
    ".dockerconfigjson": JSON.stringify({ auths: { [registry.host]: entry } }),
  });
  const cfg = (entry: object): Record<string, string> => ({ ".dockercfg": JSON.stringify({ [registry.host]: entry }) });

  function start(options: Partial<PullSecretsOptions> = {}): PullSecrets {
    const secrets = new PullSecrets({
      client: cluster.client,
      globalSecret: { namespace: elsewhere, name: "global" },
      serviceAccount: { namespace, name: "puller" },
      log: createLogger({ component: "test", level: "debug", destination: { write: (line) => logged.push(line) } }),
      states: createPullSecretGauge(metrics),
      ...options,
    });
    secrets.onChange(() => changes++);
    running = secrets.run(stop.signal);
    return secrets;
  }

  /** Pulls with these secrets only; every call is a first pull. */
  async function pull(credentials: PullSecrets, auths: Record<string, object> = {}): Promise<string> {
    const { puller: p } = await puller({ conf: insecureRegistry(registry.host), auths, credentials });
    return p.pull("ext", `${registry.host}/ns/app:v1`, { signal }).then(
      () => "pulled",
      (err: Error) => (err.message.includes("authentication required") ? "refused" : err.message),
    );
  }
  const states = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      [...(await metrics.text()).matchAll(/pull_secrets\{state="(\w+)"\} (\d+)/g)].map(([, state, count]) => [state, Number(count)]),
    );

  // S0-102; C-02
  test.for([
    ["a .dockerconfigjson", () => config(right)],
    ["a .dockercfg", () => cfg(right)],
    ["an auth text", () => config({ auth: btoa(`user:${PASSWORD}`) })],
    ["both formats, where .dockerconfigjson has priority", () => ({ ...cfg(wrong), ...config(right) })],
  ] as const)("pulls use the ServiceAccount's pull secrets with %s", async ([, data]) => {
    await secret("own", data());
    await account(["own"]);
    expect(await pull(start())).toBe("pulled");
  });

  test("pulls prefer the last pull secret of the ServiceAccount, and use the global pull secret only if the ServiceAccount has none", async () => {
    await secret("global", config(right), elsewhere);
    const secrets = start();
    expect(await pull(secrets)).toBe("pulled");
    await secret("one", cfg(wrong));
    await account(["one"]);
    await eventually(async () => expect(await pull(secrets)).toBe("refused"));
    await secret("two", config(right));
    await account(["one", "two"]);
    await eventually(async () => expect(await pull(secrets)).toBe("pulled"));
    await account(["two", "one"]);
    await eventually(async () => expect(await pull(secrets)).toBe("refused"));
    await account([]);
    await eventually(async () => expect(await pull(secrets)).toBe("pulled"));
    expect(changes).toBe(5);
  });

  test("pull secrets that are rotated, removed or created later apply to the next pull", async () => {
    await account(["own"]);
    const secrets = start();
    expect(await pull(secrets)).toBe("refused");
    await secret("own", config(wrong));
    await eventually(() => expect(changes).toBe(1));
    expect(await pull(secrets)).toBe("refused");
    await secret("own", config(right));
    await eventually(() => expect(changes).toBe(2));
    expect(await pull(secrets)).toBe("pulled");
    await cluster.client.delete({ apiVersion: "v1", kind: "Secret", name: "own", namespace });
    await eventually(() => expect(changes).toBe(3));
    expect(await pull(secrets)).toBe("refused");
    expect(await states()).toEqual({ used: 0, missing: 2, unreadable: 0, unknown: 0 });
  });

  test("missing or invalid pull secrets are logged without their content, and the valid pull secrets are used", async () => {
    await secret("broken", { ".dockerconfigjson": `{"auths": {"x": {"auth": "${PASSWORD}"` });
    await secret("other", { password: PASSWORD });
    await secret("right", config(right));
    await account(["broken", "right", "other", "missing"]);
    const secrets = start();
    expect(await pull(secrets)).toBe("pulled");
    expect(await states()).toEqual({ used: 1, missing: 2, unreadable: 2, unknown: 0 });
    const entries = logged.map((line) => JSON.parse(line) as { msg: string; secret?: string }).filter((line) => line.secret);
    expect(entries.map(({ msg, secret: name }) => `${name?.split("/")[1]}: ${msg.split(",")[0]}`).sort()).toEqual([
      "broken: pull secret contains no docker configuration in .dockerconfigjson or .dockercfg",
      "global: pull secret does not exist",
      "missing: pull secret does not exist",
      "other: pull secret contains no docker configuration in .dockerconfigjson or .dockercfg",
      "right: using pull secret",
    ]);
    expect(logged.join("")).not.toContain(PASSWORD);
  });

  test("pull secrets have priority over the credentials file", async () => {
    await account(["own"]);
    const secrets = start();
    expect(await pull(secrets, { [registry.host]: right })).toBe("pulled");
    await secret("own", config(wrong));
    await eventually(() => expect(changes).toBe(1));
    expect(await pull(secrets, { [registry.host]: right })).toBe("refused");
  });

  test("pull secrets need permission only for their own names, and a denied read does not block pulls", async () => {
    await secret("own", config(right));
    await account(["own", "forbidden"]);
    await secret("forbidden", config(wrong));
    const rules = [
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["own"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: ["puller"], verbs: ["get", "list", "watch"] },
    ];
    const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "puller", namespace } };
    await cluster.client.create({ ...rbac, kind: "Role", rules });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "puller" };
    await cluster.client.create({
      ...rbac,
      kind: "RoleBinding",
      roleRef,
      subjects: [{ kind: "ServiceAccount", name: "puller", namespace }],
    });
    const parent = Client.fromKubeConfig(cluster.kubeconfig);
    try {
      const client = parent.withToken(new ServiceAccountTokens(cluster.client).tokenFor(namespace, "puller"));
      const secrets = start({ client });
      await eventually(async () => expect(await states()).toEqual({ used: 1, missing: 0, unreadable: 0, unknown: 2 }));
      expect(await pull(secrets)).toBe("pulled");
    } finally {
      stop.abort();
      await running;
      await parent.close();
    }
  });

  test("pulls are anonymous outside of a cluster", async () => {
    expect(await pull(start({ globalSecret: undefined, serviceAccount: undefined }))).toBe("refused");
  });
});
