import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { InstalledRequirement } from "../../resolve/dependencies/requirementMap.ts";
import { buildDependencies } from "./dependencyView.ts";

function extensionOf(name: string, more: { status?: object; deletionTimestamp?: string } = {}): ClusterExtension {
  const extension = createExtension(name, { packageName: name });
  const { status, deletionTimestamp } = more;
  return {
    ...extension,
    metadata: { ...extension.metadata, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    ...(status ? { status } : {}),
  };
}

const requirement: InstalledRequirement = {
  extension: "a",
  bundle: "a.v1.0.0",
  text: 'package "b" >=1.0.0',
  isMet: true,
  unmet: [],
  providers: ["b"],
  isServed: false,
  needed: ["b"],
};
const unmet: InstalledRequirement = {
  ...requirement,
  extension: "c",
  isMet: false,
  unmet: ['package "b" >=2.0.0'],
  providers: [],
  needed: [],
};

function build(extensions: ClusterExtension[], requirements: InstalledRequirement[], isServedKnown = true) {
  return buildDependencies({ extensions, requirements, isServedKnown, unknown: [] });
}

test("buildDependencies lists requirements that are not met first", () => {
  const { requirements } = build(
    ["a", "b", "c"].map((name) => extensionOf(name)),
    [requirement, unmet],
  );
  expect(requirements.map(({ extension, state }) => `${extension}: ${state.text}`)).toEqual(["c: Not met", "a: Met"]);
});

test.for<[string, InstalledRequirement, boolean, string]>([
  ["the cluster serves it", { ...requirement, providers: [], needed: [], isServed: true }, true, "Served by the cluster"],
  ["the APIs of the cluster are unknown", unmet, false, "Unknown"],
])("buildDependencies describes a requirement when %s", ([, one, isServedKnown, want]) => {
  expect(build([extensionOf("a")], [one], isServedKnown).requirements.map(({ state }) => state.text)).toEqual([want]);
});

test("buildDependencies draws dependents left of what they need, and missing dependencies as nodes", () => {
  const { graph, independent } = build(
    ["a", "b", "c", "d"].map((name) => extensionOf(name)),
    [requirement, unmet],
  );
  const xOf = (label: string): number => graph?.nodes.find((node) => node.label === label)?.x ?? 0;
  expect(graph?.edges.map(({ from, to, state }) => `${from} -> ${to}: ${state}`)).toEqual([
    "extension c -> missing 1: unmet",
    "extension a -> extension b: met",
  ]);
  expect(xOf("a")).toBeLessThan(xOf("b"));
  expect(xOf("c")).toBeLessThan(xOf("Missing"));
  expect(independent).toBe(1);
});

test("buildDependencies lists extensions whose uninstall waits first", () => {
  const problems = [{ type: "RequiredByOthers", severity: "Error", message: "m", next: "uninstall a first" }];
  const waiting = extensionOf("z", { deletionTimestamp: "2026-01-01T00:00:00Z", status: { problems } });
  const { blockers } = build(
    [extensionOf("a"), extensionOf("b"), waiting],
    [{ ...requirement, providers: ["b", "z"], needed: ["b", "z"] }],
  );
  expect(blockers).toEqual([
    { extension: "z", isWaiting: true, dependents: [{ extension: "a", needs: [requirement.text] }], next: { text: "Uninstall a first." } },
    { extension: "b", isWaiting: false, dependents: [{ extension: "a", needs: [requirement.text] }], next: undefined },
  ]);
});

test("buildDependencies reports the progress of plans, and why a bundle cannot be installed", () => {
  const bundle = { name: "a.v1.0.0", version: "1.0.0" };
  const member = {
    extension: "b",
    packageName: "b",
    bundle: { name: "b.v1.0.0", version: "1.0.0" },
    catalog: "main",
    wave: 1,
    reason: "API B",
  };
  const dependencyPlan = { digest: "d", bundle, catalog: "main", wave: 2, members: [member] };
  const problem = {
    type: "UnsatisfiedDependencies",
    severity: "Error",
    message: "m",
    details: { dependencies: [{ bundle: "c.v1", message: "no B" }] },
  };
  const extensions = [extensionOf("a", { status: { dependencyPlan } }), extensionOf("c", { status: { problems: [problem] } })];
  const { plans, requirements, graph } = build(extensions, []);
  expect(plans).toEqual([expect.objectContaining({ extension: "a", installed: 0, all: 2, failure: undefined })]);
  expect(plans[0]?.members.map(({ extension, state, reason }) => `${extension}: ${state.text}, ${reason}`)).toEqual([
    "b: Not created yet, API B",
    "a: Waiting, undefined",
  ]);
  expect(requirements).toEqual([expect.objectContaining({ extension: "c", bundle: "c.v1", unmet: ["no B"] })]);
  expect(graph?.edges.map(({ to, state }) => `${to}: ${state}`)).toEqual(["missing 1: unmet", "extension b: planned"]);
});

test("buildDependencies draws no graph when there are no dependencies", () => {
  expect(build([extensionOf("a")], [])).toMatchObject({ graph: undefined, requirements: [], independent: 1 });
});
