import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { problemText } from "../support/problems.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { SmallPackage, type SmallVersion } from "../support/smallPackage.ts";
import { whileAsking } from "../support/whileAsking.ts";
import { World } from "../support/world.ts";

const GROUP = "hostile.example.com";
const [OLD, NEW] = [{ version: "1.0.0" }, { version: "2.0.0" }];
const TENANT = "tenant";
/** Together far larger than a page, and than the memory that a check may use. */
const COUNT = 40;
/** About 1 MB of JSON. */
const VALUES = Array.from({ length: 60_000 }, (_, i) => `value-${i}`.padEnd(14, "x"));
const RBAC = "rbac.authorization.k8s.io";
/** The end of the finding. */
const FINDING = /; 40 custom resources of CRD "things\.hostile\.example\.com" would still be valid$/;

/** Creates the definition of a version. The new one sets `maxLength` of `size`, so the controller checks the existing custom resources. */
function definition(of: SmallVersion): KubeObject {
  const size = of === OLD ? { type: "string" } : { type: "string", maxLength: 3 };
  const list = { type: "array", items: { type: "string" } };
  return thingDefinition(GROUP, { properties: { size, list } });
}

describeWithPrivateCluster("operator-controller and malicious custom resources", (cluster) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(cluster);
  });
  afterAll(() => world?.stop());

  test("operator-controller stays ready and installs another extension while it checks 40 MB of custom resources", async () => {
    const [things, good] = [new SmallPackage("things", OLD, NEW), new SmallPackage("good", OLD)];
    const metas: object[] = [];
    for (const one of [things, good]) {
      const refs = new Map<SmallVersion, string>();
      for (const of of one.versions) {
        const files = one.bundleFiles(of);
        if (one === things) files.set("manifests/crd.yaml", Buffer.from(JSON.stringify(definition(of))));
        refs.set(of, await world.pushBundle(`test/${one.name}`, `v${of.version}`, one.name, files));
      }
      metas.push(...one.catalogMetas((of) => refs.get(of) ?? ""));
      const namespace = getNamespace(one.extension());
      const { serviceAccount: account } = one.extension().spec;
      const definitions = one === things ? one.versions.map(definition) : [];
      await grantInstaller(cluster.client, one.extension(), [...one.objects(namespace), ...definitions]);
      await allow(cluster.client, "Cluster", { name: account?.name ?? "", namespace }, "list");
    }
    const text = metas.map((meta) => JSON.stringify(meta)).join("\n");
    await world.serve("catalog", await world.pushCatalog("test/catalog", "v1", new Map([["catalog.json", Buffer.from(text)]])));
    await world.apply(things.extension({ version: OLD.version }));
    await world.installed("things", OLD.version);
    await createThings(await tenant(cluster.client));

    const ask = async (): Promise<void> => {
      for (const path of ["/healthz", "/readyz"]) {
        const answer = await fetch(`${world.installation.probes["operator-controller"]}${path}`);
        expect([path, answer.status]).toEqual([path, 200]);
        await answer.body?.cancel();
      }
      await sleep(20);
    };
    let message = "";
    let isCheckedFirst: boolean | undefined;
    const responses = await whileAsking(ask, async () => {
      await cluster.client.patch(
        { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "things" },
        { spec: { source: { catalog: { version: NEW.version } } } },
        { type: "merge" },
      );
      await world.apply(good.extension());
      const found = world.condition(
        "ClusterExtension",
        "things",
        (c, object) => {
          message = problemText((object as ClusterExtension).status);
          return c("Progressing")?.reason === "Retrying" && FINDING.test(message);
        },
        480_000,
      );
      const install = async (): Promise<void> => {
        await world.installed("good", OLD.version);
        isCheckedFirst = FINDING.test(message);
      };
      await Promise.all([install(), found]);
    });
    expect(isCheckedFirst).toBe(false);
    expect(responses.failures).toEqual([]);
    expect(responses.answers).toBeGreaterThan(0);
    expect(message).toMatch(FINDING);
    expect(world.unexpectedEnds).toEqual([]);
  }, 600_000);
});

/** Grants a ServiceAccount one verb on Things, in its namespace or in all. */
async function allow(admin: Client, scope: "" | "Cluster", subject: { name: string; namespace: string }, verb: string): Promise<void> {
  const metadata = { name: `${subject.namespace}-${verb}-things`, ...(scope === "" ? { namespace: subject.namespace } : {}) };
  const apply = (object: KubeObject): Promise<KubeObject> => admin.apply(object, { fieldManager: "test", force: true });
  const rules = [{ apiGroups: [GROUP], resources: ["things"], verbs: [verb] }];
  await apply({ apiVersion: `${RBAC}/v1`, kind: `${scope}Role`, metadata, rules });
  await apply({
    apiVersion: `${RBAC}/v1`,
    kind: `${scope}RoleBinding`,
    metadata,
    subjects: [{ kind: "ServiceAccount", ...subject }],
    roleRef: { apiGroup: RBAC, kind: `${scope}Role`, name: metadata.name },
  });
}

/** A user who may only create Things in one namespace. */
async function tenant(admin: Client): Promise<Client> {
  const metadata = { name: "user", namespace: TENANT };
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TENANT } }, { fieldManager: "test" });
  await admin.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata }, { fieldManager: "test" });
  await allow(admin, "", metadata, "create");
  return admin.withToken(new ServiceAccountTokens(admin).tokenFor(TENANT, metadata.name));
}

/** Creates Things one after the other, to limit the load of the API server. */
async function createThings(user: Client): Promise<void> {
  for (let i = 0; i < COUNT; i++)
    await user.create({
      apiVersion: `${GROUP}/v1`,
      kind: "Thing",
      metadata: { name: `t${i}`, namespace: TENANT },
      size: "s",
      list: VALUES,
    });
}
