import { join } from "node:path";
import { expect, test } from "vitest";
import type {
  InstallPlan,
  InstallPlanDependencies,
  InstallPlanMember,
  InstallPlanObject,
} from "../../../pkg/operatorcontroller/plan/installPlan.ts";
import type { JudgedRule } from "../../../pkg/permissions/judgePermissions.ts";
import type { PlanView } from "../../../pkg/preview/extensionPlan.ts";
import type { PermissionPreview } from "../../../pkg/preview/permissionPreview.ts";
import { formatPlan } from "./plan.ts";

const object = (
  action: InstallPlanObject["action"],
  kind: string,
  name: string,
  parts: Partial<InstallPlanObject> = {},
): InstallPlanObject => ({
  action,
  apiVersion: "v1",
  kind,
  namespace: "hello",
  name,
  widens: false,
  refused: false,
  changes: [],
  more: 0,
  ...parts,
});

const PLAN: InstallPlan = {
  formatVersion: 1,
  extension: "hello",
  exists: true,
  installed: { bundle: "hello.v1.0.0", version: "1.0.0", revision: 3 },
  bundle: { name: "hello.v1.1.0", version: "1.1.0", image: "quay.io/hello:v1.1.0", catalog: "main" },
  explanation: "it is the highest version",
  unavailableCatalogs: [],
  counts: { create: 0, update: 0, delete: 0, unchanged: 1 },
  objects: [object("Unchanged", "ConfigMap", "same")],
  findings: [],
  warnings: [],
  notes: [],
  digest: "sha256:1",
  approval: { needed: false, given: false },
};
const HEAD = `ClusterExtension hello: hello.v1.0.0 (version 1.0.0, revision 3) is installed
Plan: hello.v1.1.0 (version 1.1.0, from catalog main)
Why: it is the highest version
`;
const NO_CHANGE = "0 to create, 0 to change, 0 to delete, 1 unchanged\n";

const EXEC: JudgedRule = {
  namespace: "",
  rule: { apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] },
  outcome: "Pending",
  field: "grant",
};
const PREVIEW: PermissionPreview = {
  state: "Pending",
  judged: [EXEC],
  added: [EXEC],
  removed: { clusterRules: [], namespaceRules: new Map(), unknownKinds: [] },
  pending: [EXEC],
  denied: [],
  pendingDigest: "sha256:2",
  policy: { name: "default", spec: {}, exists: true },
  account: { namespace: "hello", name: "olmv1-extension-hello" },
};

const member = (
  extension: string,
  name: string,
  parts: Pick<InstallPlanMember, "wave" | "reason"> & Partial<InstallPlanMember>,
): InstallPlanMember => ({
  extension,
  created: false,
  packageName: extension,
  bundle: { name, version: name.slice(name.indexOf(".v") + 2) },
  catalog: "main",
  installed: false,
  ...parts,
});
const DEPENDENCIES: InstallPlanDependencies = {
  root: "hello",
  stored: false,
  digest: "sha256:1",
  members: [
    member("pilot", "pilot.v1.0.0", { wave: 1, created: true, installed: true, reason: 'hello.v1.1.0 requires package "pilot" 1.0.0' }),
    member("cook", "cook.v1.0.0", {
      wave: 2,
      created: true,
      catalog: "other",
      reason: "hello.v1.1.0 requires API example.com/v1 Meal",
    }),
    member("hello", "hello.v1.1.0", { wave: 2, reason: null }),
  ],
  failure: { message: 'ClusterExtension "cook" failed', attempts: 2, retryAt: "2026-01-01T00:00:00Z" },
  awaitedKinds: [{ apiVersion: "example.com/v1", kind: "Meal", bundle: "cook.v1.0.0" }],
};

const MANAGE = ["create", "delete", "get", "list", "patch", "watch"];
const DEPLOYMENT = "spec.template.spec.containers[name=manager].image";

test.for([80, 200])("formatPlan prints a plan in %i columns", async (width) => {
  const plan: InstallPlan = {
    ...PLAN,
    explanation:
      'bundle "hello.v1.1.0" (version 1.1.0) of catalog "main": highest of 2 versions in channels [stable] that are not deprecated, successor of "hello.v1.0.0" by skipRange in channel "stable"',
    counts: { create: 1, update: 2, delete: 1, unchanged: 3 },
    objects: [
      object("Create", "ConfigMap", "hello-operator-languages"),
      object("Update", "Deployment", "hello-operator", {
        changes: [
          {
            path: DEPLOYMENT,
            before: '"registry.example.com/hello-operator:v1.0.0"',
            after: '"registry.example.com/hello-operator:v1.1.0"',
          },
          { path: "spec.template.metadata.annotations.description", before: `"${"Greets people. ".repeat(12)}"` },
        ],
        more: 3,
      }),
      object("Update", "ClusterRole", "hello-operator.v1.-11eo31ntey09ohy5kpw33k9x9626aocyoj1vlmwksm7h", { widens: true }),
      object("Delete", "Service", "hello-operator-metrics", { refused: true }),
    ],
    findings: [
      {
        kind: "permissions",
        text: 'service account requires the following permissions to manage cluster extension:\n  Namespace:"hello" APIGroups:[] Resources:[configmaps] ResourceNames:[hello-operator-languages] Verbs:[create,delete,get,list,patch,watch]',
        permissions: [
          { namespace: "hello", apiGroups: [""], resources: ["configmaps"], resourceNames: ["hello-operator-languages"], verbs: MANAGE },
          { apiGroups: ["hello.example.com"], resources: ["greetings", "greetings/status"], verbs: ["update", "patch"] },
        ],
        grant: "olmv1 rbac quay.io/hello:v1.1.0 --namespace hello --service-account hello-installer | kubectl apply -f -",
      },
    ],
    warnings: [
      {
        text: 'would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
        objects: ["Deployment hello/hello-operator"],
      },
    ],
    notes: ["spec.suspend is true: the controller applies nothing until it is false"],
    approval: { needed: true, given: false },
  };
  await expect(formatPlan(plan, { width, colour: false })).toMatchFileSnapshot(
    join(import.meta.dirname, `../../../test/goldens/cli/plan-${width}.txt`),
  );
});

// Source: D-04.
test.for<[what: string, parts: Partial<PlanView>, text: string]>([
  ["a plan without changes", {}, `${HEAD}\n${NO_CHANGE}\ndigest: sha256:1\n`],
  [
    "changes of objects and fields",
    {
      counts: { create: 1, update: 2, delete: 1, unchanged: 1 },
      objects: [
        object("Create", "ConfigMap", "new"),
        object("Update", "Secret", "key", { changes: [{ path: "data.password", before: "(secret)", after: "(secret)" }], more: 2 }),
        object("Update", "ClusterRole", "role", { widens: true, changes: [{ path: "rules[0].verbs[1]", after: '"delete"' }] }),
        object("Delete", "ConfigMap", "old"),
        object("Unchanged", "ConfigMap", "same"),
      ],
    },
    `${HEAD}
1 to create, 2 to change, 1 to delete, 1 unchanged
  + ConfigMap hello/new
  ~ Secret hello/key
      data.password: (secret) → (secret)
      ... and 2 more fields
  ~ ClusterRole hello/role  (more permissions)
      rules[0].verbs[1]: (none) → "delete"
  - ConfigMap hello/old

digest: sha256:1
`,
  ],
  [
    "findings, warnings and notes, with escaped control characters",
    {
      counts: { create: 1, update: 0, delete: 0, unchanged: 0 },
      objects: [object("Create", "Service", "web\u001b[2J", { refused: true })],
      findings: [{ kind: "dryRun", text: "Service hello/web: no\nnot today\n" }],
      warnings: [{ text: "would violate PodSecurity", objects: ["Deployment hello/a", "Deployment hello/b"] }],
      notes: ["spec.suspend is true"],
    },
    `${HEAD}
1 to create, 0 to change, 0 to delete, 0 unchanged
  + Service hello/web\\u{1b}[2J  (rejected, see errors)

Errors; the controller would reject this plan:
  Service hello/web: no
    not today

Warnings from the API server:
  Deployment hello/a, Deployment hello/b: would violate PodSecurity

Notes:
  spec.suspend is true

digest: sha256:1
`,
  ],
  [
    "the command that approves a plan",
    { approval: { needed: true, given: false } },
    `${HEAD}\n${NO_CHANGE}
digest: sha256:1
approve: kubectl annotate clusterextension hello --overwrite olm.operatorframework.io/approve=sha256:1
`,
  ],
  [
    "that a plan is approved",
    { approval: { needed: true, given: true } },
    `${HEAD}\n${NO_CHANGE}\ndigest: sha256:1\nthis plan is approved\n`,
  ],
  [
    "how to approve a plan of an extension that does not exist",
    { exists: false, installed: null, digest: null, approval: { needed: true, given: false } },
    `${HEAD.replace(/: hello.v1.0.0 .*/, " does not exist yet")}\n${NO_CHANGE}
spec.approval is Manual: after you apply the ClusterExtension, status.plan contains the digest for approving this plan
`,
  ],
  [
    "the waves of a plan with dependencies, and that one approval covers it",
    {
      approval: { needed: true, given: false },
      dependencies: DEPENDENCIES,
    },
    `${HEAD}
Dependencies: the plan installs 3 bundles in 2 waves
  wave 1:
      pilot.v1.0.0 (version 1.0.0, from catalog main): ClusterExtension pilot, installed
        hello.v1.1.0 requires package "pilot" 1.0.0
  wave 2, installed together:
    + cook.v1.0.0 (version 1.0.0, from catalog other): new ClusterExtension cook
        hello.v1.1.0 requires API example.com/v1 Meal
    + hello.v1.1.0 (version 1.1.0, from catalog main): this ClusterExtension
  Meal (example.com/v1) comes with bundle cook.v1.0.0; objects of this kind were not tried
  rolled back (2 attempts): ClusterExtension "cook" failed; the controller retries after 2026-01-01T00:00:00Z, or as soon as the spec or a bundle changes

Objects of hello.v1.1.0: ${NO_CHANGE}
digest: sha256:1
one approval covers all bundles of the plan
approve: kubectl annotate clusterextension hello --overwrite olm.operatorframework.io/approve=sha256:1
`,
  ],
  [
    "the plan of another ClusterExtension",
    { dependencies: { ...DEPENDENCIES, root: "crew", awaitedKinds: [], failure: null, members: DEPENDENCIES.members.slice(2) } },
    `${HEAD}
Dependencies: the plan of ClusterExtension crew installs 1 bundle in 1 wave
  wave 2:
    + hello.v1.1.0 (version 1.1.0, from catalog main): this ClusterExtension

Objects of hello.v1.1.0: ${NO_CHANGE}
digest: sha256:1
`,
  ],
  [
    "permissions that change",
    { permissions: PREVIEW },
    `${HEAD}\n${NO_CHANGE}
Permissions of ServiceAccount hello/olmv1-extension-hello with PermissionPolicy default ("manage" means create, get, list, watch, patch and delete):
Added, after approval:
  cluster-wide:
    get pods/exec: all
1 rule would wait for approval, and the installed bundle would keep its permissions
  approve after the request: olmv1 permissions approve hello

digest: sha256:1
`,
  ],
  [
    "that no permission changes",
    { permissions: { ...PREVIEW, state: "Granted", added: [], pending: [] } },
    `${HEAD}\n${NO_CHANGE}
Permissions of ServiceAccount hello/olmv1-extension-hello with PermissionPolicy default: no change

digest: sha256:1
`,
  ],
  [
    "why permissions are unknown",
    { permissions: { unknown: "permissionpolicies is forbidden" } },
    `${HEAD}\n${NO_CHANGE}\nPermissions are unknown: permissionpolicies is forbidden\n\ndigest: sha256:1\n`,
  ],
])("formatPlan prints %s", ([, parts, text]) => {
  expect(formatPlan({ ...PLAN, ...parts })).toBe(text);
});

test("formatPlan prints only the number of minor label and annotation changes, and lists the changes when all is set", () => {
  const changes = [
    { path: "spec.template.metadata.annotations.createdAt", before: '"a"', after: '"b"' },
    { path: "spec.replicas", before: "1", after: "2" },
  ];
  const plan = { ...PLAN, objects: [object("Update", "Deployment", "x", { changes })] };
  expect(formatPlan(plan)).toContain("      spec.replicas: 1 → 2\n      1 label or annotation (shown with --all)\n");
  expect(formatPlan(plan, { width: 200, colour: false, all: true })).toContain(
    '      spec.template.metadata.annotations.createdAt: "a" → "b"\n',
  );
});

test("formatPlan prints changes in color when the screen has colors", () => {
  const plan = { ...PLAN, objects: [object("Create", "ConfigMap", "x")] };
  expect(formatPlan(plan, { width: 200, colour: true })).toContain("\u001b[32m  + ConfigMap hello/x\u001b[39m");
});

test("formatPlan prints the support of the planned bundle", () => {
  const support = {
    state: "Supported",
    phase: "Full support",
    phaseEndDate: "2026-06-30",
    endDate: "2026-06-30",
    platform: "Unknown",
  } as const;
  expect(formatPlan({ ...PLAN, bundle: { ...PLAN.bundle, support } })).toContain("\nSupport: Full support until 2026-06-30\n");
  expect(formatPlan(PLAN)).not.toContain("Support:");
});
