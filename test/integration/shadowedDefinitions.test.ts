import { beforeAll, expect, onTestFinished, test } from "vitest";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { toServingSecret } from "../../pkg/certificates/storedCertificates.ts";
import { Applier } from "../../pkg/operatorcontroller/apply/applier.ts";
import { type CrdUse, checkCrdUse } from "../../pkg/operatorcontroller/crds/crdUse.ts";
import { Uninstaller } from "../../pkg/operatorcontroller/reconcile/delete.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { issueCertificate } from "../../pkg/serving/issueWorker.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { stepContext } from "../support/extensionFakes.ts";
import { EVERYTHING, loneExtension, prepareObjectsFor } from "../support/loneExtension.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { ServingPod } from "../support/servingPod.ts";

const GROUP = "shadowed.example.com";
const API_VERSION = `${GROUP}/v1`;
const CRD = thingDefinition(GROUP);
const THING: KubeObject = { apiVersion: API_VERSION, kind: "Thing", metadata: { name: "mine", namespace: "default" } };
const API_SERVICE: ObjectRef = { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", name: `v1.${GROUP}` };
/** The permissions that a ServiceAccount needs to check a definition. */
const CHECKING: PolicyRule[] = [
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get"] },
  { apiGroups: [GROUP], resources: ["things"], verbs: ["list"] },
];
const signal = new AbortController().signal;
const { log } = stepContext();

describeWithPrivateCluster("definitions whose group version another API server serves", (cluster) => {
  const formatReason = (use: CrdUse): string => (use.kind === "in use" ? use.reason : use.kind);
  const crd = async (): Promise<KubeObject> => (await cluster.client.get(toObjectRef(CRD))) ?? CRD;

  /** An API server for a Service that serves Things, without any objects. */
  async function otherServer(namespace: string): Promise<ServingPod> {
    const host = `server.${namespace}.svc`;
    const [startsAt, endsAt] = [Date.now() - 60_000, Date.now() + 3_600_000];
    const { certificate, key } = await issueCertificate({ host, dnsNames: [host], startsAt, endsAt });
    const secret = { apiVersion: "v1", kind: "Secret", namespace, name: "server" };
    await cluster.client.create(toServingSecret(secret, { serving: { certificate, key }, authorities: [] }));
    const ports = [{ name: "443", port: 443, targetPort: 443 }];
    await cluster.client.create({ apiVersion: "v1", kind: "Service", metadata: { namespace, name: "server" }, spec: { ports } });
    return ServingPod.start(cluster.client, {
      namespace,
      service: "server",
      secret: "server",
      answer({ path }) {
        const resources = [{ name: "things", singularName: "thing", namespaced: true, kind: "Thing", verbs: ["get", "list"] }];
        if (path === `/apis/${API_VERSION}`) return { kind: "APIResourceList", apiVersion: "v1", groupVersion: API_VERSION, resources };
        return path.endsWith("/things") ? { apiVersion: API_VERSION, kind: "ThingList", metadata: {}, items: [] } : undefined;
      },
    });
  }

  async function shadow(namespace: string): Promise<void> {
    const spec = {
      group: GROUP,
      version: "v1",
      groupPriorityMinimum: 1_000,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { namespace, name: "server", port: 443 },
    };
    // Without the label the API server does not change the APIService.
    const labels = { "kube-aggregator.kubernetes.io/automanaged": null };
    await cluster.client.patch(API_SERVICE, { metadata: { labels }, spec }, { type: "merge" });
    await eventually(async () => {
      const { items } = await cluster.client.list({ apiVersion: API_VERSION, kind: "Thing" });
      expect(items).toEqual([]);
    });
  }

  beforeAll(() => cluster.installCrds());

  test("checkCrdUse keeps a CRD whose API another server serves, with and without permission to read APIServices", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const objects = prepareObjectsFor(x, [CRD]);
    await new Applier(account.client, log, signal).apply(objects, new Map());
    const narrow = await serviceAccount(cluster.client, ns, "narrow", CHECKING);
    await eventually(() => cluster.client.create(THING));
    await eventually(async () => expect(formatReason(await checkCrdUse(narrow.client, await crd(), signal))).toBe("CustomResourcesExist"));
    const server = await otherServer(ns);
    onTestFinished(() => server[Symbol.asyncDispose]());
    await shadow(ns);

    const allowed = await checkCrdUse(account.client, await crd(), signal);
    expect(allowed).toMatchObject({
      kind: "in use",
      reason: "ServedElsewhere",
      text: `treated as in use: cannot list its custom resources: APIService v1.${GROUP} forwards requests for ${API_VERSION} to Service ${ns}/server`,
    });
    const denied = await checkCrdUse(narrow.client, await crd(), signal);
    expect(formatReason(denied)).toBe("ServedElsewhere");
    expect(denied).toMatchObject({ text: expect.stringContaining(`reading APIService v1.${GROUP} is forbidden`) as string });
    const { kept } = await new Uninstaller(account.client, new Applier(account.client, log, signal), x, signal).run(
      objects.map(toObjectRef),
    );
    expect(kept.map(({ text }) => text)).toEqual([expect.stringContaining("cannot list its custom resources: APIService") as string]);

    await cluster.client.delete(API_SERVICE);
    await eventually(async () => expect(await cluster.client.get(toObjectRef(THING))).toBeDefined());
    await cluster.client.delete(toObjectRef(THING));
    // The hash in discovery shows that the definition itself is served.
    await eventually(async () => expect(formatReason(await checkCrdUse(narrow.client, await crd(), signal))).toBe("unused"));
    expect(formatReason(await checkCrdUse(account.client, await crd(), signal))).toBe("unused");
    await narrow.grant([EVERYTHING]);
    await cluster.client.delete(toObjectRef(CRD));
  });
});
