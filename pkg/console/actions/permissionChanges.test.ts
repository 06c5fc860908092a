import { expect, test } from "vitest";
import { ActionApi } from "../../../test/support/actionApi.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { ANNOTATION_APPROVE, API_VERSION, EXTENSION_PERMISSIONS } from "../../api/constants.ts";
import { rulesFromDetails } from "../../operatorcontroller/permissions/permissions.ts";
import { computeRulesDigest } from "../../permissions/grantPlan.ts";

const PERMISSIONS = `/apis/${EXTENSION_PERMISSIONS.apiVersion}/extensionpermissions`;
const RULES = {
  mesh: { apiGroups: [""], resources: ["pods"], verbs: ["get"], reason: "grant is Manual" },
  certificates: {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    verbs: ["escalate"],
    risk: "RoleEscalation",
    reason: "can grant any permission",
  },
  gateway: { apiGroups: [""], resources: ["services"], verbs: ["get"], reason: "grant is Manual" },
};

type Name = keyof typeof RULES;
const digestOf = (name: Name): string => computeRulesDigest(rulesFromDetails([RULES[name]]));

/** Returns permissions with one rule that waits for approval. */
function createPermissions(name: Name, change: object = {}) {
  const status = {
    state: "Pending",
    namespace: name,
    serviceAccount: `olmv1-${name}`,
    pending: [RULES[name]],
    pendingDigest: digestOf(name),
  };
  return { ...EXTENSION_PERMISSIONS, metadata: { name, uid: `uid-${name}`, resourceVersion: "7" }, status: { ...status, ...change } };
}

/**
 * Starts an API server with extension `mesh`, and `certificates` in its dependency plan. `gateway` waits too, but is not in the plan.
 * @param change of the status of `certificates` @param own of the status of `mesh`
 */
async function startApi(change: object = {}, own: object = {}): Promise<ActionApi> {
  const api = await ActionApi.start();
  const bundle = (name: string) => ({ name: `${name}.v1`, version: "1.0.0" });
  const members = [{ extension: "certificates", packageName: "certificates", bundle: bundle("certificates"), catalog: "c", wave: 1 }];
  const dependencyPlan = { digest: "d", bundle: bundle("mesh"), catalog: "c", wave: 2, members };
  api.objects.set(`/apis/${API_VERSION}/clusterextensions/mesh`, {
    ...createExtension("mesh", { packageName: "mesh" }),
    status: { dependencyPlan },
  });
  const items = [createPermissions("mesh", own), createPermissions("certificates", change), createPermissions("gateway")];
  api.objects.set(PERMISSIONS, { kind: "List", metadata: { resourceVersion: "1" }, items });
  for (const item of items) api.objects.set(`${PERMISSIONS}/${item.metadata.name}`, item);
  return api;
}

const OWN = { action: "approvePermissions", extension: "mesh", digest: digestOf("mesh") } as const;
const BOTH = { ...OWN, dependencies: [{ extension: "certificates", digest: digestOf("certificates") }] };

test("an approval of permissions offers to cover the dependencies of the plan, with their rules", async () => {
  await using api = await startApi();
  const { requests, choice, isDanger } = await api.prepare(OWN);
  expect(requests.map(({ path }) => path)).toEqual([expect.stringContaining("/extensionpermissions/mesh?")]);
  expect([isDanger, choice]).toEqual([
    false,
    {
      label: "Also approve the permissions of its dependencies: certificates",
      isChosen: false,
      items: [
        {
          extension: "certificates",
          texts: ["escalate clusterroles.rbac.authorization.k8s.io: all (RoleEscalation: can grant any permission)"],
        },
      ],
      request: BOTH,
    },
  ]);
});

test("an approval of permissions shows the rules of dependencies completely, however long they are", async () => {
  const resourceNames = Array.from({ length: 1_000 }, (_, i) => `role-${i}`);
  const long = { ...RULES.certificates, resourceNames };
  await using api = await startApi({ pending: [long], pendingDigest: computeRulesDigest(rulesFromDetails([long])) });
  const [text] = (await api.prepare(OWN)).choice?.items[0]?.texts ?? [];
  expect(resourceNames.filter((name) => !text?.includes(`${name},`) && !text?.includes(`${name} (`))).toEqual([]);
});

test("an approval of permissions with dependencies approves each digest, those of dependencies first, and can be narrowed again", async () => {
  await using api = await startApi();
  const { id, title, effects, requests, choice, isDanger, command } = await api.prepare(BOTH);
  expect([title, isDanger, command]).toEqual([
    "Approve the permissions of mesh, certificates?",
    true,
    "olmv1 permissions approve mesh --with-dependencies",
  ]);
  expect(effects.slice(0, 2)).toEqual([
    "permission-manager grants 1 rule to ServiceAccount olmv1-mesh of mesh.",
    "permission-manager grants 1 rule to ServiceAccount olmv1-certificates of certificates.",
  ]);
  expect(choice).toMatchObject({ isChosen: true, request: OWN });
  expect(requests.map(({ body = "" }) => JSON.parse(body) as unknown)).toMatchObject(
    (["certificates", "mesh"] as const).map((name) => ({
      metadata: { uid: `uid-${name}`, annotations: { [ANNOTATION_APPROVE]: digestOf(name) } },
    })),
  );
  expect(await api.run({ id })).toMatchObject({ status: 200, body: { isOk: true } });
  expect(api.sent.map(({ url }) => url.split("?")[0])).toEqual(["certificates", "mesh"].map((name) => `${PERMISSIONS}/${name}`));
});

test.for<[what: string, change: object]>([
  ["other rules wait than those that the user saw", { pendingDigest: "sha256:other" }],
  ["the permissions of a dependency do not wait any more", { pendingDigest: undefined, state: "Granted" }],
])("an approval with dependencies is rejected when %s", async ([, change]) => {
  await using api = await startApi(change);
  expect(await api.post("/api/actions/prepare", BOTH)).toMatchObject({ status: 409, body: { kind: "conflict" } });
});

test("an approval of permissions is rejected, with the command, when the status does not list all rules that wait", async () => {
  const pendingDigest = computeRulesDigest(rulesFromDetails([RULES.mesh, RULES.gateway]));
  await using api = await startApi({}, { pendingDigest });
  expect(await api.post("/api/actions/prepare", { ...OWN, digest: pendingDigest })).toMatchObject({
    status: 409,
    body: { kind: "conflict", message: expect.stringContaining(`olmv1 permissions approve mesh --digest ${pendingDigest}`) },
  });
});

test("an approval of permissions offers nothing more when the user may not list permissions, or no dependency waits", async () => {
  await using waiting = await startApi({ pendingDigest: undefined, state: "Granted" });
  expect(await waiting.prepare(OWN)).not.toHaveProperty("choice");
  await using denied = await startApi();
  denied.answers.set(`GET ${PERMISSIONS}`, { status: 403, json: { kind: "Status", reason: "Forbidden", message: "forbidden" } });
  expect(await denied.prepare(OWN)).not.toHaveProperty("choice");
});
