import { expect, test } from "vitest";
import { NO_REGISTRIES } from "../../test/support/registrySnapshots.ts";
import { buildCrd, KINDS } from "../api/customResourceDefinitions.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { ClusterSnapshot, ProgramSnapshot } from "./clusterSnapshot.ts";
import { collectFindings } from "./findings.ts";
import { isOtherImplementation } from "./otherImplementation.ts";

const EXTENSIONS = "clusterextensions.olm.operatorframework.io";
const PERMISSIONS = "extensionpermissions.olm.operatorframework.io";
const OWN = new Map(KINDS.map(buildCrd).map((crd) => [crd.metadata.name, crd]));

/** The CustomResourceDefinition of ClusterExtensions with only these fields in its spec. */
function createDefinition(...fields: string[]): KubeObject {
  const spec = { properties: Object.fromEntries(fields.map((name) => [name, {}])) };
  const schema = { openAPIV3Schema: { properties: { spec } } };
  const metadata = { name: EXTENSIONS };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata,
    spec: { versions: [{ name: "v1", schema }] },
  };
}

type Part = ClusterSnapshot["definitions"] extends ReadonlyMap<string, infer T> ? T : never;
const definitions = (extensions: Part, permissions: Part = { value: undefined }): ClusterSnapshot["definitions"] =>
  new Map([
    [EXTENSIONS, extensions],
    [PERMISSIONS, permissions],
  ]);

test.for<[what: string, definitions: ClusterSnapshot["definitions"], isOther: boolean]>([
  ["the definitions are those of olmv1", definitions({ value: OWN.get(EXTENSIONS) }, { value: OWN.get(PERMISSIONS) }), false],
  ["only fields of the Go implementation exist", definitions({ value: createDefinition("namespace", "source") }), true],
  [
    "olmv1 is installed next to definitions of Go",
    definitions({ value: createDefinition("source") }, { value: OWN.get(PERMISSIONS) }),
    false,
  ],
  ["an older olmv1 has fewer fields", definitions({ value: createDefinition("source", "suspend") }), false],
  ["nothing is installed", definitions({ value: undefined }), false],
  ["the user may not read the definitions", definitions({ refused: "forbidden" }, { refused: "forbidden" }), false],
])("isOtherImplementation recognizes another OLM when %s", ([, given, isOther]) => {
  expect(isOtherImplementation({ definitions: given })).toBe(isOther);
});

/** Returns a server of the Go implementation; without a Deployment, only its Lease is known. */
function createProgram(program: ProgramSnapshot["program"], hasDeployment: boolean): ProgramSnapshot {
  const container = { image: "quay.io/operator-framework/operator-controller:v1.5.0", args: ["--leader-elect"] };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: program },
    spec: { template: { spec: { containers: [container] } } },
    status: { readyReplicas: 1, updatedReplicas: 1 },
  };
  const spec = { holderIdentity: `${program}-0`, leaseDurationSeconds: 137, renewTime: "2026-01-01T00:00:00.000000Z" };
  return {
    program,
    namespace: "olmv1-system",
    deployment: { value: hasDeployment ? deployment : undefined },
    lease: { value: hasDeployment ? { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec } : undefined },
    secrets: new Map(),
  };
}

test("collectFindings checks only what another implementation has too", () => {
  const none = { value: [] };
  const snapshot: ClusterSnapshot = {
    namespace: "olmv1-system",
    now: Date.UTC(2026, 0, 1, 0, 0, 5),
    serverVersion: "v1.36.3",
    definitions: definitions({ value: createDefinition("source") }),
    programs: [createProgram("catalogd", false), createProgram("operator-controller", true), createProgram("permission-manager", false)],
    catalogs: none,
    registries: NO_REGISTRIES,
    imagePolicies: { cluster: { value: undefined }, namespaced: { value: undefined }, readers: new Map() },
    policies: new Map(),
    monitors: { value: undefined },
    extensions: none,
    permissions: none,
    permissionPolicies: none,
    grants: none,
    objectSets: none,
  };
  expect(collectFindings(snapshot, "0.1.0").map(({ check, status }) => `${status} ${check}`)).toEqual([
    "ok API server",
    "ok implementation",
    "warning Deployment catalogd-controller-manager",
    "ok Deployment operator-controller-controller-manager",
    "ok leader of operator-controller",
    "warning catalogs",
  ]);
});
