import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ANNOTATION_APPROVE,
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
  PERMISSION_POLICY,
} from "../../pkg/api/constants.ts";
import { PERMISSION_RULES_MAX } from "../../pkg/api/extensionPermissions.ts";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import type { PermissionPolicySpec } from "../../pkg/api/permissionPolicy.ts";
import { POD_OUTCOME_ANNOTATION } from "../../pkg/devcluster/podSimulation.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { intersects, type PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { diffRules, formatRulesDiff } from "../../pkg/rbac/ruleSets.ts";
import { eventTexts } from "../support/audit.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { readGrantedRoles } from "../support/extensionLife.ts";
import { ManagedWorld } from "../support/managedWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const MERGE = { type: "merge" } as const;
const READ_NODES = { apiGroups: [""], resources: ["nodes"], verbs: ["get"] };
const READ_SECRETS = { apiGroups: [""], resources: ["secrets"], verbs: ["list"] };
const READ_ACCOUNT = { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get"] };
const ESCALATE = { apiGroups: [RBAC_GROUP], resources: ["clusterroles"], verbs: ["escalate"] };
/** Packages of the same kind, one for each extension: two extensions cannot have the same cluster-scoped objects. */
const CARS = ["racer", "plain", "removed", "smaller", "packages", "places", "catalogs", "denying", "manual", "trusting", "small", "wrong"];
/** The number of rules of the huge bundle. */
const HUGE = 10_000;

/** A bundle whose operator has these permissions on the cluster. */
function buildBundle(name: string, version: string, ...rules: JsonObject[]): { version: string; files: Record<string, string> } {
  return { version, files: tinyBundle(version, { name, clusterPermissions: [{ serviceAccountName: name, rules }] }) };
}

describeWithPrivateCluster("attacks on policies and approvals", (cluster) => {
  let world: ManagedWorld;

  beforeAll(async () => {
    world = await ManagedWorld.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s"] } });
    const inNamespaces = [{ serviceAccountName: "boat", rules: [READ_SECRETS] }];
    const distinct = (at: number): JsonObject => ({ apiGroups: [`g${at}.example.com`], resources: [`r${at}`], verbs: ["get"] });
    await world.publish(
      "motors",
      {
        ...Object.fromEntries(
          CARS.map((name) => [name, [buildBundle(name, "1.0.0", READ_NODES), buildBundle(name, "2.0.0", READ_NODES, READ_SECRETS)]]),
        ),
        boat: [{ version: "1.0.0", files: tinyBundle("1.0.0", { name: "boat", modes: ["MultiNamespace"], permissions: inNamespaces }) }],
        approved: [buildBundle("approved", "1.0.0", READ_NODES, ESCALATE)],
        middle: [buildBundle("middle", "1.0.0", READ_NODES, ESCALATE)],
        huge: [buildBundle("huge", "1.0.0", ...Array.from({ length: HUGE }, (_, at) => distinct(at)))],
        large: [buildBundle("large", "1.0.0", ...Array.from({ length: HUGE - 100 }, (_, at) => distinct(at)))],
      },
      { trust: "high" },
    );
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    expect(world.world.unexpectedEnds).toEqual([]);
  });

  const policyRef = (name: string) => ({ ...PERMISSION_POLICY, name });
  const withPolicy = (permissionPolicy: string): JsonObject => ({ spec: { install: { permissionPolicy } } });

  /** Reports whether the roles of an extension contain a part of `rule`. */
  async function hasRule(name: string, rule: PolicyRule): Promise<boolean> {
    const { clusterRules, namespaceRules } = await readGrantedRoles(cluster.client, name);
    return [...clusterRules, ...[...namespaceRules.values()].flat()].some((one) => intersects(one, rule));
  }

  /** Creates an extension with a policy of the same name, and waits until it is installed. */
  async function install(name: string, spec: PermissionPolicySpec): Promise<void> {
    await world.setPolicy(spec, name);
    await world.create(name, name, { namespace: `${name}-system`, install: { permissionPolicy: name } }, { version: "1.0.0" });
    await world.ready(name, "1.0.0");
    await world.until(name, ({ state }) => expect(state).toBe("Granted"));
  }

  describe("by users", () => {
    const clients: Record<string, Client> = {};

    beforeAll(async () => {
      const group = API_VERSION.slice(0, API_VERSION.indexOf("/"));
      const write = [
        { apiGroups: [group], resources: ["clusterextensions"], verbs: ["get", "create", "update", "patch"] },
        { apiGroups: [group], resources: ["extensionpermissions", "extensionpermissions/status"], verbs: ["get", "create", "patch"] },
      ];
      const use = { apiGroups: [group], resources: ["permissionpolicies"], resourceNames: ["racing"], verbs: ["use"] };
      const approve = { apiGroups: [group], resources: ["extensionpermissions"], resourceNames: ["approved"], verbs: ["approve"] };
      clients["writer"] = await world.user("writer", write);
      clients["driver"] = await world.user("driver", [...write, use]);
      clients["approver"] = await world.user("approver", [...write, approve]);
      await world.setPolicy({ grant: "Automatic" }, "racing");
      await world.setPolicy({ grant: "Automatic" }, "other");
      await world.create("racer", "racer", { namespace: "racer-system", install: { permissionPolicy: "racing" } }, { version: "1.0.0" });
      await world.create("plain", "plain", { namespace: "plain-system" }, { version: "1.0.0" });
      await world.create("approved", "approved", { namespace: "approved-system" });
      await world.ready("racer", "1.0.0");
      await world.ready("plain", "1.0.0");
      await world.until("approved", ({ state }) => expect(state).toBe("Pending"));
    });

    const create = (name: string, permissionPolicy: string) => (client: Client) =>
      client.create({
        apiVersion: API_VERSION,
        kind: CLUSTER_EXTENSION,
        metadata: { name },
        spec: { source: { sourceType: "Catalog", catalog: { packageName: "racer", version: "1.0.0" } }, install: { permissionPolicy } },
      });
    const edit = (name: string, body: JsonObject) => (client: Client) => world.edit(name, body, client);
    const approve = (name: string) => async (client: Client) =>
      world.annotate(name, (await world.permissions(name)).status?.pendingDigest ?? "", client);

    test.for<[user: string, what: string, attempt: (client: Client) => Promise<unknown>, refusal: RegExp]>([
      ["writer", "create an extension with a policy", create("new", "racing"), /may not use PermissionPolicy racing/],
      ["writer", "create an extension with policy default by name", create("new", "default"), /may not use PermissionPolicy default/],
      ["writer", "create an extension with a missing policy", create("new", "none"), /may not use PermissionPolicy none/],
      ["writer", "set a policy", edit("plain", withPolicy("racing")), /may not use PermissionPolicy racing/],
      ["writer", "remove a policy", edit("racer", { spec: { install: null } }), /may not use PermissionPolicy racing/],
      ["writer", "replace a policy", edit("racer", withPolicy("other")), /may not use PermissionPolicy other/],
      [
        "writer",
        "change the version of an extension with a policy",
        edit("racer", { spec: { source: { catalog: { version: "2.0.0" } } } }),
        /may not use PermissionPolicy racing/,
      ],
      ["driver", "replace a policy by one that it may not use", edit("racer", withPolicy("other")), /may not use PermissionPolicy other/],
      ["driver", "set a policy that it may not use", edit("plain", withPolicy("other")), /may not use PermissionPolicy other/],
      ["writer", "approve permissions", approve("approved"), /requires verb approve/],
      ["driver", "approve permissions", approve("approved"), /requires verb approve/],
      [
        "approver",
        "approve permissions of another extension",
        (client) => world.annotate("plain", "sha256:0", client),
        /requires verb approve/,
      ],
      [
        "approver",
        "write a request",
        (client) => client.patch({ ...EXTENSION_PERMISSIONS, name: "approved" }, { spec: { isChanging: true } }, MERGE),
        /only operator-controller writes spec/,
      ],
      [
        "approver",
        "write the status of a request",
        (client) =>
          client.patch(
            { ...EXTENSION_PERMISSIONS, name: "approved" },
            { status: { state: "Granted" } },
            { ...MERGE, subresource: "status" },
          ),
        /only permission-manager writes status/,
      ],
      [
        "approver",
        "create a request that is approved",
        (client) =>
          client.create({ ...EXTENSION_PERMISSIONS, metadata: { name: "approved2", annotations: { [ANNOTATION_APPROVE]: "sha256:0" } } }),
        /only operator-controller writes spec|requires verb approve/,
      ],
    ])("%s cannot %s", async ([user, , attempt, refusal]) => {
      await expect(attempt(clients[user] as Client)).rejects.toThrow(refusal);
    });

    test("a user without verb use may change metadata of an extension with a policy, but approves nothing with an annotation on it", async () => {
      const { pendingDigest } = (await world.permissions("approved")).status ?? {};
      const metadata = { annotations: { [ANNOTATION_APPROVE]: pendingDigest ?? "" } };
      await world.edit("racer", { metadata }, clients["writer"]);
      await world.edit("approved", { metadata, spec: { source: { catalog: { channels: ["stable"] } } } }, clients["writer"]);
      const generation = (await world.world.extension("approved"))?.metadata.generation;
      await world.until("approved", ({ state, extensionGeneration }) =>
        expect([state, extensionGeneration]).toEqual(["Pending", generation]),
      );
      expect(await world.listGranted("approved")).toEqual([]);
    });

    test("a user with verb use sets and removes a policy", async () => {
      await world.edit("plain", withPolicy("racing"), clients["driver"]);
      await world.until("plain", ({ state, policy }) => expect([state, policy]).toEqual(["Granted", "racing"]));
      await world.edit("plain", { spec: { install: null } }, clients["driver"]);
      await world.until("plain", ({ state, policy }) => expect([state, policy]).toEqual(["Granted", "default"]));
    });

    test("a user with verb approve approves exactly the rules that wait", async () => {
      await world.annotate("approved", `sha256:${"0".repeat(64)}`, clients["approver"]);
      await approve("approved")(clients["approver"] as Client);
      await world.ready("approved", "1.0.0");
    });
  });

  test("an approval ends with a configuration that needs other rules, and operator-controller cannot repeat it after a revocation", async () => {
    for (const name of ["boat-a", "boat-b", "boat-c"])
      await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const watch = (...watchNamespaces: string[]): JsonObject => ({ config: { configType: "Inline", inline: { watchNamespaces } } });
    await world.setPolicy({ grant: "Manual" }, "boat");
    await world.create("boat", "boat", { namespace: "boat-system", install: { permissionPolicy: "boat" }, ...watch("boat-a", "boat-b") });
    const first = await world.approve("boat");
    await world.ready("boat", "1.0.0");
    await world.until("boat", ({ state, approvedDigest }) => expect([state, approvedDigest]).toEqual(["Granted", first]));
    const before = await readGrantedRoles(cluster.client, "boat");
    await world.edit("boat", { spec: watch("boat-a", "boat-b", "boat-c") });
    await world.until("boat", ({ state, pendingDigest, pending }) => {
      expect([state, pendingDigest === first]).toEqual(["Pending", false]);
      expect(pending).toContainEqual(expect.objectContaining({ namespace: "boat-c" }));
    });
    expect(formatRulesDiff(diffRules(before, await readGrantedRoles(cluster.client, "boat")))).toEqual(["no change"]);
    await world.world.problems("boat", (text) => text.includes("PermissionsPending"));
    await world.edit("boat", { spec: watch("boat-a", "boat-b") });
    await world.until("boat", ({ state }) => expect(state).toBe("Granted"));
    await world.annotate("boat", null);
    await world.until("boat", ({ state, ruleCount, history }) =>
      expect([state, ruleCount, history?.[0]?.reason]).toEqual(["Pending", 0, "Revoked"]),
    );
    await expect(world.annotate("boat", first, world.asProgram("operator-controller"))).rejects.toThrow(/requires verb approve/);
    await world.annotate("boat", first);
    await world.until("boat", ({ state }) => expect(state).toBe("Granted"));
    expect(formatRulesDiff(diffRules(before, await readGrantedRoles(cluster.client, "boat")))).toEqual(["no change"]);
  });

  describe("when a policy changes", () => {
    test("a denied rule is taken away at once, even during an installation", async () => {
      const annotations = { [POD_OUTCOME_ANNOTATION]: "NotReady" };
      await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "middle-system", annotations } });
      await world.setPolicy({ grant: "Automatic" }, "middle");
      await world.create("middle", "middle", { namespace: "middle-system", install: { permissionPolicy: "middle" } });
      await world.until("middle", ({ state }) => expect(state).toBe("Granted"));
      expect(await hasRule("middle", ESCALATE)).toBe(true);
      await world.setPolicy({ grant: "Automatic", deny: [ESCALATE] }, "middle");
      await world.until("middle", ({ state, denied }) => expect([state, denied?.[0]?.verbs]).toEqual(["Denied", ["escalate"]]));
      expect([await hasRule("middle", ESCALATE), await hasRule("middle", READ_NODES)]).toEqual([false, true]);
      await world.world.problems("middle", (text) => text.includes("PermissionsDenied"));
      await eventually(async () =>
        expect(await eventTexts(cluster.client, "middle")).toContainEqual(expect.stringMatching(/^GrantDenied: /)),
      );
    });

    // A writer of the extension must not keep permissions with a request that cannot be verified.
    test("a denied rule is taken away even if the request of the extension is invalid, and the extension can be uninstalled", async () => {
      await install("wrong", { grant: "Automatic" });
      expect(await hasRule("wrong", READ_NODES)).toBe(true);
      await world.edit("wrong", { spec: { source: { catalog: { selector: { matchLabels: { trust: "none" } } } } } });
      await world.until("wrong", ({ state }) => expect(state).toBe("Failed"));
      await world.setPolicy({ grant: "Automatic", deny: [READ_NODES] }, "wrong");
      await world.until("wrong", ({ state, history }) => expect([state, history?.[0]?.reason]).toEqual(["Failed", "Revoked"]));
      expect([await hasRule("wrong", READ_NODES), await hasRule("wrong", READ_ACCOUNT)]).toEqual([false, true]);
      await world.world.removed("ClusterExtension", "wrong");
    });

    test.for<[name: string, change: string, spec: PermissionPolicySpec | undefined, message: RegExp]>([
      ["removed", "is deleted", undefined, /PermissionPolicy "removed" does not exist/],
      ["smaller", "has a smaller limit", { limits: { rules: 1 } }, /limits.rules is 1, but the bundle needs/],
      ["packages", "no longer covers the package", { covers: { packages: ["bo*"] } }, /covers.packages does not contain "packages"/],
      [
        "places",
        "no longer covers the namespace",
        { covers: { namespaces: ["other"] } },
        /covers.namespaces does not contain "places-system"/,
      ],
      [
        "catalogs",
        "no longer covers the catalog",
        { covers: { catalogs: { matchLabels: { trust: "root" } } } },
        /does not select ClusterCatalog "motors"/,
      ],
      ["denying", "denies a rule of the next version", { deny: [READ_SECRETS] }, /denies 1 permission rule/],
      ["manual", "waits for an approval", { grant: "Manual" }, /must be approved/],
    ])("extension %s gets no more permissions after its policy %s, and keeps those of its version", async ([name, , spec, message]) => {
      await install(name, { grant: "Automatic" });
      await eventually(async () => expect(await hasRule(name, READ_NODES)).toBe(true));
      const before = await readGrantedRoles(cluster.client, name);
      if (spec) await cluster.client.replace({ ...(await readPolicy(name)), spec: { grant: "Automatic", ...spec } });
      else await cluster.client.delete(policyRef(name));
      await world.edit(name, { spec: { source: { catalog: { version: "2.0.0" } } } });
      await world.until(name, ({ state, conditions }, { spec: requested }) => {
        expect([state, requested?.bundle?.version]).not.toEqual(["Granted", "2.0.0"]);
        expect(conditions?.[0]?.message).toMatch(message);
      });
      await world.world.problems(name, (text) => /PermissionsDenied|PermissionsPending/.test(text));
      expect(formatRulesDiff(diffRules(before, await readGrantedRoles(cluster.client, name)))).toEqual(["no change"]);
      expect((await world.world.extension(name))?.status?.install?.bundle.version).toBe("1.0.0");
    });

    test("a catalog that loses the label which the policy requires gives no more permissions", async () => {
      const setTrust = (trust: string) =>
        cluster.client.patch(
          { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "motors" },
          { metadata: { labels: { trust } } },
          MERGE,
        );
      await install("trusting", { grant: "Automatic", covers: { catalogs: { matchLabels: { trust: "high" } } } });
      await setTrust("low");
      await world.until("trusting", ({ state, conditions }) => {
        expect(state).toBe("Denied");
        expect(conditions?.[0]?.message).toMatch(/does not select ClusterCatalog "motors"/);
      });
      await setTrust("high");
      await world.until("trusting", ({ state }) => expect(state).toBe("Granted"));
    });

    async function readPolicy(name: string): Promise<KubeObject> {
      const found = await cluster.client.get(policyRef(name));
      if (!found) throw new Error(`PermissionPolicy ${name} does not exist`);
      return found;
    }
  });

  test("a bundle with 10,000 rules is limited, and another extension is installed meanwhile", async () => {
    await world.setPolicy({ grant: "Automatic", limits: { rules: 10_000 } }, "most");
    await world.create("limited", "huge", { namespace: "limited-system" });
    await world.create("huge", "huge", { namespace: "huge-system", install: { permissionPolicy: "most" } });
    await world.create("large", "large", { namespace: "large-system", install: { permissionPolicy: "most" } });
    await world.create("small", "small", { namespace: "small-system" }, { version: "1.0.0" });
    await world.ready("small", "1.0.0");
    for (const [name, limit] of [
      ["limited", 1_000],
      ["huge", 10_000],
    ] as const) {
      await world.until(name, ({ state, conditions }) => {
        expect(state).toBe("Denied");
        expect(conditions?.[0]?.message).toMatch(new RegExp(`limits.rules is ${limit}, but the bundle needs 1\\d{4} rules`));
      });
      await world.world.problems(name, (text) => text.includes("PermissionsDenied"));
      expect(await world.listGranted(name)).toEqual([]);
    }
    await world.until("large", ({ state, ruleCount, rules }) => {
      expect([state, rules?.length]).toEqual(["Granted", PERMISSION_RULES_MAX]);
      expect(ruleCount).toBeGreaterThan(HUGE - 100);
    });
  });

  test("a rollback to a version that no catalog contains is denied, and the installed version keeps its permissions", async () => {
    const versions = [buildBundle("plane", "1.0.0", READ_SECRETS), buildBundle("plane", "2.0.0", READ_NODES)];
    await world.publish("hangar", { plane: versions });
    await world.create("plane", "plane", { namespace: "plane-system" }, { version: "1.0.0" });
    await world.ready("plane", "1.0.0");
    await world.edit("plane", { spec: { source: { catalog: { version: null } } } });
    await world.ready("plane", "2.0.0");
    await eventually(async () => expect([await hasRule("plane", READ_SECRETS), await hasRule("plane", READ_NODES)]).toEqual([false, true]));
    const before = await readGrantedRoles(cluster.client, "plane");
    await world.publish("hangar", { plane: versions.slice(1) });
    const pin = (revision: string | null) => world.edit("plane", { metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: revision } } });
    await pin("1");
    await world.until("plane", ({ state, conditions }) => {
      expect(state).toBe("Failed");
      expect(conditions?.[0]?.message).toMatch(/ClusterCatalog "hangar" does not contain bundle "plane.v1.0.0"/);
    });
    await eventually(async () =>
      expect(await eventTexts(cluster.client, "plane")).toContainEqual(expect.stringMatching(/^GrantUnverified: /)),
    );
    await world.world.condition(
      "ClusterExtension",
      "plane",
      (condition) => condition("Progressing")?.message.includes("plane.v1.0.0") ?? false,
    );
    expect(formatRulesDiff(diffRules(before, await readGrantedRoles(cluster.client, "plane")))).toEqual(["no change"]);
    expect((await world.world.extension("plane"))?.status?.install?.bundle.version).toBe("2.0.0");
    await pin(null);
    await world.until("plane", ({ state, bundle }) => expect([state, bundle?.version]).toEqual(["Granted", "2.0.0"]));
    await world.ready("plane", "2.0.0");
  });
});
