import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import type { CustomResources } from "../../../pkg/installer/removal.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { findMostRelevantCondition } from "../../../pkg/rollout/conditionAdvice.ts";
import { formatGrants, formatPlacedRules } from "./grantedPermissions.ts";
import { formatApproval, formatRollout } from "./rollout.ts";
import { formatUninstall } from "./uninstall.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens/cli");
const [ARGOCD, PROMETHEUS, STRIMZI, TEMPO] = parseYamlDocuments(readFileSync(join(GOLDENS, "fixtures/extensions.yaml"), "utf8")) as [
  ClusterExtension,
  ClusterExtension,
  ClusterExtension,
  ClusterExtension,
];
const SCREENS = [80, 200].map((width) => ({ width, colour: false }));
const MANAGE = ["create", "delete", "get", "list", "patch", "watch"];

const formatAtWidths = (text: (screen: { width: number; colour: boolean }) => string): string =>
  SCREENS.map((screen) => `==== width ${screen.width}\n${text(screen)}`).join("\n");
const getGoldenPath = (name: string): string => join(GOLDENS, `${name}.txt`);

test("formatGrants summarizes permissions and does not truncate resources", async () => {
  const rbac = "rbac.authorization.k8s.io";
  const names = Array.from({ length: 8 }, (_, i) => `argocd-operator.v0.12.0-${i}1kcb3o2p8s9f4`);
  const rules: RequiredRules = {
    clusterRules: [
      {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        resourceNames: ["argocds.argoproj.io"],
        verbs: MANAGE,
      },
      { apiGroups: [rbac], resources: ["clusterroles"], resourceNames: names, verbs: [...MANAGE, "bind", "escalate"] },
      { apiGroups: ["argoproj.io"], resources: ["argocds", "argocds/status"], verbs: ["*"] },
      { nonResourceURLs: ["/metrics"], verbs: ["get"] },
    ],
    namespaceRules: new Map([
      ["argocd", [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }]],
      ["empty", []],
    ]),
    unknownKinds: [],
  };
  const many = {
    ...rules,
    namespaceRules: new Map([
      ["argocd", Array.from({ length: 40 }, (_, i) => ({ apiGroups: [""], resources: [`r${i}`], verbs: ["get"] }))],
    ]),
  };
  const nothing = { clusterRules: [], namespaceRules: new Map<string, []>(), unknownKinds: [] };
  const text = formatAtWidths((screen) => [rules, many, nothing].map((one) => formatGrants(screen, one, "olmv1 rbac IMAGE")).join("--\n"));
  expect(text).toContain("customresourcedefinitions.apiextensions.k8s.io: argocds.argoproj.io");
  await expect(text).toMatchFileSnapshot(getGoldenPath("install-permissions"));
});

test("formatPlacedRules prints all names of a rule when it prints all rules, because users approve them", () => {
  const resourceNames = Array.from({ length: 8 }, (_, i) => `role-${i}`);
  const rule = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], resourceNames, verbs: ["bind"] };
  const screen = { width: 200 };
  expect(formatPlacedRules(screen, [{ namespace: "", rule }])).toContain(`: ${resourceNames.join(", ")}\n`);
  expect(formatPlacedRules(screen, [{ namespace: "", rule }], "olmv1 rbac IMAGE")).toContain(
    ": role-0, role-1, role-2, role-3, role-4, … and 3 more\n",
  );
});

const definition = (name: string): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name },
});
const USED: CustomResources[] = [
  {
    crd: definition("kafkas.kafka.strimzi.io"),
    kind: "Kafka",
    names: ["a/one", "a/two", "b/three", "c/four", "d/five", "e/six"],
    isMore: false,
  },
  { crd: definition("kafkatopics.kafka.strimzi.io"), kind: "KafkaTopic", names: [], isMore: false },
  {
    crd: definition("kafkausers.kafka.strimzi.io"),
    kind: "KafkaUser",
    names: [],
    isMore: false,
    unknown: 'kafkausers is forbidden: User "jane" cannot list',
  },
];
const INSTALLED = { refs: [], count: STRIMZI.status?.inventory?.count ?? 0 };
const CREATED: KubeObject[] = [{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "strimzi-installer", namespace: "kafka" } }];

test("formatUninstall lists deleted and kept objects for each crdPolicy", async () => {
  const staying = ["Namespace kafka is kept; --delete-namespace deletes it with its content."];
  const summary = { extension: STRIMZI, installed: INSTALLED, customResources: USED, blocked: [], created: CREATED, staying };
  const text = formatAtWidths((screen) =>
    (["DeleteIfUnused", "Delete", "Retain"] as const)
      .map((crdPolicy) => `-- ${crdPolicy}\n${formatUninstall(screen, { ...summary, crdPolicy })}`)
      .join(""),
  );
  await expect(text).toMatchFileSnapshot(getGoldenPath("uninstall"));
});

test("formatUninstall lists the objects that block the uninstall, and alternatives", async () => {
  const blocked = [
    "CustomResourceDefinition kafkas.kafka.strimzi.io is kept (custom resources exist), and only the conversion webhook of this extension can convert its custom resources (stored versions: v1beta2): a/one",
  ];
  const crdPolicy = "DeleteIfUnused" as const;
  const summary = { extension: STRIMZI, installed: INSTALLED, crdPolicy, customResources: [], blocked, created: [], staying: [] };
  await expect(formatAtWidths((screen) => formatUninstall(screen, summary))).toMatchFileSnapshot(getGoldenPath("uninstall-blocked"));
});

test("formatApproval prints the changes that await approval", async () => {
  const plan = {
    digest: "sha256:4f0c",
    bundle: { name: "argocd-operator.v0.13.0", version: "0.13.0" },
    create: 1,
    update: 30,
    delete: 0,
    unchanged: 6,
    objects: [
      { action: "Create" as const, kind: "ConfigMap", namespace: "argocd", name: "argocd-operator-settings" },
      {
        action: "Update" as const,
        group: "apps",
        kind: "Deployment",
        namespace: "argocd",
        name: "argocd-operator",
        fields: ["spec.template.spec.containers[name=manager].image", "spec.replicas"],
      },
      { action: "Update" as const, kind: "ClusterRole", name: "argocd-operator-3f2", fields: ["rules[1].verbs[2]"], widens: true },
    ],
  };
  const text = formatAtWidths((screen) => formatApproval(screen, { ...ARGOCD, status: { ...ARGOCD.status, plan } }));
  await expect(text).toMatchFileSnapshot(getGoldenPath("approve"));
});

test("formatRollout prints the result of a rollout and next steps", async () => {
  const ends = (screen: { width: number }): string =>
    [
      formatRollout(screen, "argocd", { kind: "ready", extension: ARGOCD, seconds: 12 }),
      formatRollout(screen, "prometheus", {
        kind: "failed",
        extension: PROMETHEUS,
        condition: findMostRelevantCondition(PROMETHEUS.status?.conditions),
        seconds: 20,
      }),
      formatRollout(screen, "strimzi", {
        kind: "timeout",
        extension: STRIMZI,
        condition: findMostRelevantCondition(STRIMZI.status?.conditions),
        seconds: 300,
      }),
      formatRollout(screen, "tempo", { kind: "timeout", extension: TEMPO, condition: undefined, seconds: 300 }),
      formatRollout(screen, "gone", { kind: "gone", seconds: 3 }),
    ].join("--\n");
  await expect(formatAtWidths(ends)).toMatchFileSnapshot(getGoldenPath("rollout-ends"));
});
