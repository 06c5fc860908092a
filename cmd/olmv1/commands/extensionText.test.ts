import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { isServed } from "../cli/catalogState.ts";
import { describeText, type ExtensionDescription } from "./describe.ts";
import { type EventRecord, formatEvents } from "./events.ts";
import { formatReleases, type ReleaseRow } from "./history.ts";
import { formatApis, listText } from "./list.ts";

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
const STATES: Readonly<Record<string, Omit<ExtensionDescription, "extension">>> = {
  argocd: { account: "made", objects: [], releases: [], events: [], catalogs: [] },
  prometheus: {
    account: "made",
    objects: [],
    releases: [],
    events: 'events is forbidden: User "jane" cannot list resource "events"',
    catalogs: [],
  },
  strimzi: {
    account: "there",
    objects: [{ ref: WORKLOAD, state: "failed", message: 'Pod strimzi-7c9d-x2x: container "operator" is in CrashLoopBackOff' }],
    releases: RELEASES,
    events: EVENTS,
    catalogs: CATALOGS.filter((one) => !isServed(one)),
  },
  tempo: {
    account: "missing",
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
