import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { Reason } from "../../../pkg/api/constants.ts";
import { newProblem } from "../../../pkg/api/problems.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { isServed } from "../../../pkg/rollout/catalogState.ts";
import type { ExtensionDescription } from "../../../pkg/rollout/extensionDescription.ts";
import type { EventRecord } from "../../../pkg/rollout/extensionEvents.ts";
import type { ReleaseRow } from "../../../pkg/rollout/releaseHistory.ts";
import { describeText } from "./describe.ts";
import { formatEvents } from "./events.ts";
import { formatReleases } from "./history.ts";
import { formatApis, listText } from "./list.ts";
import { formatPlanSummary } from "./rollout.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens/cli");
const NOW = Date.parse("2026-03-10T12:00:00Z");
const EXTENSIONS = parseYamlDocuments(readFileSync(join(GOLDENS, "fixtures/extensions.yaml"), "utf8")) as ClusterExtension[];
const CATALOGS = parseYamlDocuments(readFileSync(join(GOLDENS, "fixtures/clusterCatalogs.yaml"), "utf8")) as ClusterCatalog[];
const SCREENS = [80, 200].map((width) => ({ width, colour: false }));

const event = (lastTimestamp: string, type: string, reason: string, message: string, count = 1): EventRecord => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: reason.toLowerCase() },
  lastTimestamp,
  type,
  reason,
  message,
  count,
});
const EVENTS = [
  event(
    "2026-03-10T10:00:00Z",
    "Normal",
    "Upgraded",
    'from bundle "strimzi-cluster-operator.v0.44.0" to "strimzi-cluster-operator.v0.45.0": 2 updated, 30 unchanged',
  ),
  event(
    "2026-03-10T10:30:00Z",
    "Warning",
    "Drifted",
    "Deployment kafka/strimzi-cluster-operator spec.replicas was changed by kubectl-edit",
    3,
  ),
  event("2026-03-10T11:00:00Z", "Warning", "Unhealthy", "Deployment kafka/strimzi-cluster-operator: 0 of 1 replicas are available"),
];
const RELEASES: ReleaseRow[] = [
  {
    revision: 4,
    status: "failed",
    bundle: "strimzi-cluster-operator.v0.46.0",
    version: "0.46.0",
    deployed: "2026-03-09T10:00:00Z",
    description: 'rolled back: Deployment "strimzi-cluster-operator" is forbidden',
    pinned: false,
    current: false,
    cause: "spec change by kubectl-edit",
  },
  {
    revision: 3,
    status: "deployed",
    bundle: "strimzi-cluster-operator.v0.45.0",
    version: "0.45.0",
    deployed: "2026-03-01T10:00:00Z",
    description: "deployed",
    pinned: true,
    current: true,
    cause: "install by olmv1",
  },
];
const WORKLOAD = { apiVersion: "apps/v1", kind: "Deployment", namespace: "kafka", name: "strimzi-cluster-operator" };
const NOTHING_INSTALLED = { refs: [], count: 0 };
const STATES: Readonly<Record<string, Omit<ExtensionDescription, "extension">>> = {
  argocd: { account: "made", installed: NOTHING_INSTALLED, others: [], objects: [], releases: [], events: [], catalogs: [] },
  prometheus: {
    account: "made",
    installed: NOTHING_INSTALLED,
    others: [],
    objects: [],
    releases: [],
    events: 'events is forbidden: User "jane" cannot list resource "events"',
    catalogs: [],
  },
  strimzi: {
    account: "there",
    installed: { refs: [WORKLOAD], count: 1 },
    others: [],
    objects: [{ ref: WORKLOAD, state: "failed", message: 'Pod strimzi-7c9d-x2x: container "operator" is in CrashLoopBackOff' }],
    releases: RELEASES,
    events: EVENTS,
    catalogs: CATALOGS.filter((one) => !isServed(one)),
  },
  tempo: {
    account: "missing",
    installed: NOTHING_INSTALLED,
    others: [],
    objects: [],
    releases: [],
    events: [],
    catalogs: 'clustercatalogs is forbidden: User "jane" cannot list resource "clustercatalogs"',
  },
};

/** Formats a text for both widths, each with a heading. */
function formatAtWidths(text: (screen: { width: number; colour: boolean }) => string): string {
  return SCREENS.map((screen) => `==== width ${screen.width}\n${text(screen)}`).join("\n");
}

const getGoldenPath = (name: string): string => join(GOLDENS, `${name}.txt`);

test("listText prints extensions as a table", async () => {
  const listed = formatAtWidths((screen) => `${listText(screen, EXTENSIONS, NOW)}\n-- wide\n${listText(screen, EXTENSIONS, NOW, true)}`);
  await expect(listed).toMatchFileSnapshot(getGoldenPath("list"));
});

test("listText with wide output prints the types of errors and warnings after the message", () => {
  const [extension] = structuredClone(EXTENSIONS);
  if (!extension?.status) throw new Error("the first extension has no status");
  const problem = (type: string, severity: "Error" | "Warning" | "Info") => ({ type, severity, message: "m" });
  extension.status.problems = [problem("BundleNotFound", "Error"), problem("UpgradeWarning", "Warning"), problem("Suspended", "Info")];
  const text = listText({ width: 1_000, colour: false }, [extension], NOW, true);
  expect(text).toContain("; problems: BundleNotFound, UpgradeWarning\n");
  expect(listText({ width: 1_000, colour: false }, EXTENSIONS.slice(0, 1), NOW, true)).not.toContain("problems: ");
});

test.for(EXTENSIONS.map((extension) => [extension.metadata.name, extension] as const))(
  "describeText prints extension %s",
  async ([name, extension]) => {
    const described = { extension, ...STATES[name]! };
    await expect(formatAtWidths((screen) => describeText(screen, described, NOW))).toMatchFileSnapshot(getGoldenPath(`describe-${name}`));
  },
);

test("formatEvents and formatReleases print tables", async () => {
  const tables = formatAtWidths((screen) => `${formatEvents(screen, EVENTS, NOW)}\n${formatReleases(screen, RELEASES, NOW)}`);
  await expect(tables).toMatchFileSnapshot(getGoldenPath("events-and-history"));
});

test("formatApis lists APIs with the allowed verbs", async () => {
  const api = { group: "argoproj.io", versions: ["v1beta1", "v1alpha1"], extension: "argocd" };
  const apis = [
    { ...api, kind: "ArgoCD", allowed: ["get", "list", "watch", "create", "update", "patch", "delete"] },
    { ...api, kind: "Application", allowed: ["get", "list", "watch"] },
    { ...api, kind: "ApplicationSet", allowed: ["get", "create"] },
    { ...api, kind: "AppProject", allowed: [] },
    { ...api, kind: "NotificationsConfiguration" },
  ];
  await expect(
    formatAtWidths((screen) => `${formatApis(screen, apis, undefined)}\n${formatApis(screen, apis, "team-a")}`),
  ).toMatchFileSnapshot(getGoldenPath("list-apis"));
});

test("describeText escapes control characters", () => {
  const [extension] = structuredClone(EXTENSIONS);
  extension!.status!.conditions![1]!.message = "\u001B[2Jgone";
  extension!.status!.conditions![1]!.reason = "\u001B[2J";
  const described = { extension: extension!, ...STATES["argocd"]!, events: "\u001B[2J", releases: "\u001B[2J" };
  expect(describeText(SCREENS[0]!, described, NOW)).not.toContain("\u001B");
});

test("describeText prints why the operator holds its upgrade, and the next step", () => {
  const [extension] = structuredClone(EXTENSIONS);
  const message =
    'bundle "b.v2" is not installed: the installed operator sets condition Upgradeable in OperatorCondition "a/b.v1": Migrating: data';
  const next = "kubectl describe operatorconditions.operators.coreos.com b.v1 --namespace a";
  extension!.status!.conditions = [
    { type: "Progressing", status: "False", reason: Reason.NotUpgradeable, message, lastTransitionTime: "2026-03-10T11:00:00Z" },
  ];
  extension!.status!.problems = [newProblem("NotUpgradeable", { message, next })];
  const text = describeText({ width: 1_000, colour: false }, { extension: extension!, ...STATES["argocd"]! }, NOW);
  expect(text).toMatch(/NotUpgradeable/);
  expect(text).toContain(message);
  expect(text).toContain(next);
});

test("describeText says that the first bundle determines the namespace when the extension has none", () => {
  const [extension] = structuredClone(EXTENSIONS);
  delete extension!.spec.namespace;
  delete extension!.status!.install;
  const described = { extension: extension!, ...STATES["argocd"]! };
  expect(describeText(SCREENS[1]!, described, NOW)).toContain("Namespace:   none yet; the first installed bundle determines it\n");
});

test("describeText says that an uninstall deletes all custom resources when another OLM wrote the status", () => {
  const [extension] = structuredClone(EXTENSIONS);
  const conditions = extension!.status!.conditions!.filter(({ type }) => type !== "Ready");
  const described = { extension: { ...extension!, status: { conditions } }, ...STATES["argocd"]! };
  expect(describeText(SCREENS[1]!, described, NOW)).toContain("Uninstall:   crdPolicy Delete: this OLM deletes them with all custom");
});

/** An extension with a plan of three bundles, and the other extensions of the cluster. */
function createPlanned(): { crew: ClusterExtension; others: ClusterExtension[] } {
  const [example] = structuredClone(EXTENSIONS);
  if (!example) throw new Error("no example");
  const bundle = (name: string) => ({ name: `${name}.v1.0.0`, version: "1.0.0" });
  const member = (name: string, wave: number) => ({
    extension: name,
    packageName: name,
    bundle: bundle(name),
    catalog: "c",
    wave,
    created: true,
  });
  const failure = { message: 'ClusterExtension "cook" failed', attempts: 1, generation: 1, retryAt: "2026-01-01T00:00:00Z" };
  const plan = { digest: "d", bundle: bundle("crew"), catalog: "c", wave: 2, members: [member("pilot", 1), member("cook", 2)], failure };
  const named = (name: string, status: ClusterExtension["status"]): ClusterExtension => ({
    ...example,
    metadata: { name },
    ...(status ? { status } : {}),
  });
  const waiting = { type: "Progressing", status: "False", reason: "AwaitingApproval", message: "approve\u001B it\nsoon" } as const;
  const conditions = [{ ...waiting, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 }];
  return {
    crew: named("crew", { dependencyPlan: plan }),
    others: [named("pilot", { install: { bundle: bundle("pilot") } }), named("cook", { conditions })],
  };
}

test("describeText lists the bundles of a plan with the state of each", () => {
  const { crew, others } = createPlanned();
  const screen = { width: 200, colour: false };
  const text = describeText(screen, { ...STATES["argocd"]!, extension: crew, others: [crew, ...others] }, NOW);
  expect(text).toContain(`
Dependency plan: 1 of 3 bundles installed
  rolled back (attempts: 1): ClusterExtension "cook" failed; the controller retries after 2026-01-01T00:00:00Z, or as soon as the spec or a bundle changes
  wave 1: pilot.v1.0.0 (ClusterExtension pilot): installed
  wave 2: cook.v1.0.0 (ClusterExtension cook): not installed: AwaitingApproval: approve\\u{1b} it
  wave 2: crew.v1.0.0 (ClusterExtension crew): waiting
`);
  const member = describeText(screen, { ...STATES["argocd"]!, extension: others[0]!, others: [crew, ...others] }, NOW);
  expect(member).toContain("\nDependency plan: part of that of ClusterExtension crew\n");
  const unknown = describeText(screen, { ...STATES["argocd"]!, extension: crew, others: "forbidden" }, NOW);
  expect(unknown).toContain("\nDependency plan:\n  forbidden\n");
});

test("listText prints how many bundles of a plan are installed when it knows all extensions", () => {
  const { crew, others } = createPlanned();
  const screen = { width: 200, colour: false };
  expect(listText(screen, [crew], NOW, false, [crew, ...others])).toContain("Pending (1 of 3 bundles)");
  expect(listText(screen, [crew], NOW)).not.toContain("bundles");
});

test("formatPlanSummary lists the bundles that one approval covers", () => {
  const { crew } = createPlanned();
  const plan = { digest: "d", bundle: { name: "crew.v1.0.0", version: "1.0.0" }, create: 2, update: 0, delete: 0, unchanged: 0 };
  expect(formatPlanSummary({ width: 200 }, { ...crew, status: { ...crew.status, plan } })).toBe(
    `ClusterExtension crew: no bundle is installed, crew.v1.0.0 (version 1.0.0) waits for approval
one approval covers 3 bundles; the bundles of a wave are installed together:
  wave 1: pilot.v1.0.0 (version 1.0.0, from catalog c): new ClusterExtension pilot
  wave 2: cook.v1.0.0 (version 1.0.0, from catalog c): new ClusterExtension cook
  wave 2: crew.v1.0.0 (version 1.0.0, from catalog c): ClusterExtension crew
digest: d`,
  );
});
