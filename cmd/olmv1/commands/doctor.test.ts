import { X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE, EXTENSION_PERMISSIONS, LABEL_PERMISSIONS_FOR, PERMISSION_POLICY } from "../../../pkg/api/constants.ts";
import { buildCrd, KINDS } from "../../../pkg/api/customResourceDefinitions.ts";
import type { ExtensionPermissions } from "../../../pkg/api/extensionPermissions.ts";
import type { Condition, KubeObject } from "../../../pkg/api/k8s.ts";
import type { PermissionPolicy } from "../../../pkg/api/permissionPolicy.ts";
import { listCertificateHostNames } from "../../../pkg/certificates/servingCertificate.ts";
import {
  type ClusterSnapshot,
  type DoctorFinding,
  formatPolicyKey,
  POLICIES,
  PROGRAMS,
  type ProgramName,
  type ProgramSnapshot,
} from "../../../pkg/doctor/clusterSnapshot.ts";
import { collectFindings } from "../../../pkg/doctor/findings.ts";
import type { RegistrySnapshot } from "../../../pkg/doctor/registrySnapshot.ts";
import { MIRROR_KINDS } from "../../../pkg/oci/registries/registryObjects.ts";
import { issueCertificate } from "../../../pkg/serving/issueWorker.ts";
import { createObjectSet } from "../../../test/support/goOlm/objectSet.ts";
import { NO_REGISTRIES } from "../../../test/support/registrySnapshots.ts";
import { EXIT } from "../cli/errors.ts";
import { computeExitCode, formatDoctorReport } from "./doctor.ts";

const NOW = Date.UTC(2026, 0, 10);
const DAY = 24 * 3_600_000;
const NAMESPACE = "olmv1-system";
const GOLDENS = "../../../test/goldens/cli";
const condition = (type: string, status: "True" | "False", reason: string, message = ""): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Creates the Secret of a program, with a certificate that expires in `days`. */
async function createSecret(program: ProgramName, days: number, host = `${program}-service.${NAMESPACE}.svc`): Promise<KubeObject> {
  const task = { host, dnsNames: listCertificateHostNames(host), startsAt: NOW - 60 * DAY, endsAt: NOW + days * DAY };
  const { authority, certificate, key } = await issueCertificate(task);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${program}-serving-cert`, labels: { "olm.operatorframework.io/self-managed-certificate": program } },
    data: { "tls.crt": base64(certificate), "tls.key": base64(key), "ca.crt": base64(authority) },
  };
}

/** The parts of a program that tests change. */
interface ProgramParts {
  ready?: number;
  image?: string;
  args?: string[];
  conditions?: Condition[];
  lease?: object | undefined;
  secret?: KubeObject | undefined;
}

const NOTHING = { value: undefined };
let secrets: ReadonlyMap<ProgramName, KubeObject>;
beforeAll(async () => {
  secrets = new Map([
    ["catalogd", await createSecret("catalogd", 80)],
    ["operator-controller", await createSecret("operator-controller", 80)],
  ]);
});

function createProgram(program: ProgramName, parts: ProgramParts = {}): ProgramSnapshot {
  const { ready = 2, image = "registry.example.com/olmv1:0.1.0", args, conditions = [] } = parts;
  const lease = {
    holderIdentity: `${program}-abc`,
    leaseDurationSeconds: 137,
    renewTime: new Date(NOW - 12_000).toISOString(),
    ...parts.lease,
  };
  const containers = [{ image, args: args ?? ["/app/x.js", "--leader-elect", "--serving-certificates=self-managed"] }];
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: `${program}-controller-manager` },
    spec: { replicas: 2, template: { spec: { containers } } },
    status: { readyReplicas: ready, updatedReplicas: 2, conditions },
  };
  const secret = "secret" in parts ? parts.secret : secrets.get(program);
  return {
    program,
    namespace: "olmv1-system",
    deployment: { value: deployment },
    lease: {
      value:
        "lease" in parts && parts.lease === undefined
          ? undefined
          : { apiVersion: "v1", kind: "Lease", metadata: { name: "l" }, spec: lease },
    },
    secrets: new Map([
      [`${program}-serving-cert`, { value: secret }],
      [`${program}-cert`, { value: secret }],
    ]),
  };
}

function createCatalog(name: string, conditions: Condition[], spec: object = {}): ClusterCatalog {
  const source = { type: "Image", image: { ref: "quay.io/x/catalog:latest", pollIntervalMinutes: 10 } };
  const status = { conditions, lastUnpacked: "2026-01-09T00:00:00Z" };
  return { metadata: { name }, spec: { source, availabilityMode: "Available", ...spec }, status } as unknown as ClusterCatalog;
}

function createSnapshot(parts: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  const definitions = KINDS.map((kind) => {
    const crd = buildCrd(kind);
    return [crd.metadata.name, { value: { ...crd, status: { conditions: [condition("Established", "True", "x")] } } }] as const;
  });
  const bound = { apiVersion: "v1", kind: "X", metadata: { name: "x" } };
  return {
    namespace: NAMESPACE,
    now: NOW,
    serverVersion: "v1.36.3",
    definitions: new Map(definitions),
    programs: PROGRAMS.map(({ program }) => createProgram(program)),
    catalogs: {
      value: [createCatalog("operatorhubio", [condition("Serving", "True", "Available"), condition("Progressing", "True", "Succeeded")])],
    },
    registries: NO_REGISTRIES,
    imagePolicies: { cluster: NOTHING, namespaced: NOTHING, readers: new Map() },
    policies: new Map(POLICIES.map((ref) => [formatPolicyKey(ref), { value: bound }])),
    monitors: { value: undefined },
    extensions: { value: [] },
    permissions: { value: [] },
    permissionPolicies: { value: [] },
    grants: { value: [] },
    objectSets: { value: [] },
    ...parts,
  };
}

function createExtension(name: string, packageName: string, parts: { policy?: string; account?: string } = {}): ClusterExtension {
  const { policy, account } = parts;
  return {
    metadata: { name },
    spec: {
      namespace: `${name}-system`,
      source: { sourceType: "Catalog", catalog: { packageName } },
      ...(policy === undefined ? {} : { install: { permissionPolicy: policy } }),
      ...(account === undefined ? {} : { serviceAccount: { name: account } }),
    },
  } as ClusterExtension;
}

function createPermissions(
  name: string,
  { state, message = "", approval }: { state?: "Granted" | "Pending" | "Denied" | "Failed"; message?: string; approval?: string },
): ExtensionPermissions {
  return {
    ...EXTENSION_PERMISSIONS,
    metadata: { name, ...(approval === undefined ? {} : { annotations: { [ANNOTATION_APPROVE]: approval } }) },
    status: {
      ...(state ? { state } : {}),
      conditions: [condition("Granted", "False", state ?? "x", message)],
      ...(state === "Pending" ? { pendingDigest: "sha256:new" } : {}),
    },
  };
}

function createGrant(extension: string): KubeObject {
  const metadata = { name: `olmv1-extension-${extension}`, labels: { [LABEL_PERMISSIONS_FOR]: extension } };
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata };
}

const createPolicy = (name: string, covers?: PermissionPolicy["spec"]["covers"]): PermissionPolicy => ({
  ...PERMISSION_POLICY,
  metadata: { name },
  spec: covers ? { covers } : {},
});

const collectProblems = (snapshot: ClusterSnapshot): DoctorFinding[] =>
  collectFindings(snapshot, "0.1.0").filter(({ status }) => status !== "ok");
const createWithCatalogd = (parts: ProgramParts): ClusterSnapshot =>
  createSnapshot({ programs: PROGRAMS.map(({ program }) => createProgram(program, program === "catalogd" ? parts : {})) });

test("doctor reports no problems in a working installation", async () => {
  const snapshot = createSnapshot();
  expect(collectProblems(snapshot)).toEqual([]);
  const text = formatDoctorReport({ width: 80, colour: false }, collectFindings(snapshot, "0.1.0"));
  const ends = new Date(NOW + 80 * DAY).toISOString().slice(0, 10);
  expect(text).toContain(ends);
  await expect(text).toMatchFileSnapshot(`${GOLDENS}/doctor-healthy.txt`);
});

test("doctor suggests a fix for each problem when many parts of an installation fail", async () => {
  const damaged = {
    ...secrets.get("operator-controller")!,
    data: { ...(secrets.get("operator-controller")?.["data"] as object), "tls.key": "" },
  };
  const snapshot = createSnapshot({
    serverVersion: "v1.29.4",
    definitions: new Map([
      ["clustercatalogs.olm.operatorframework.io", { value: undefined }],
      ["clusterextensions.olm.operatorframework.io", { refused: "customresourcedefinitions is forbidden" }],
    ]),
    programs: [
      createProgram("catalogd", {
        ready: 0,
        image: "registry.example.com/olmv1:0.2.0",
        conditions: [condition("ReplicaFailure", "True", "FailedCreate", "pods is forbidden: exceeded quota: small")],
        lease: undefined,
        secret: undefined,
      }),
      createProgram("operator-controller", { ready: 1, lease: { renewTime: new Date(NOW - 900_000).toISOString() }, secret: damaged }),
      { ...createProgram("permission-manager", { lease: undefined }), deployment: { value: undefined } },
    ],
    catalogs: {
      value: [
        createCatalog("broken", [
          condition("Serving", "False", "Unavailable"),
          condition("Progressing", "True", "Retrying", "manifest unknown"),
        ]),
        createCatalog("late", [
          condition("Serving", "True", "Available"),
          condition("Progressing", "True", "Retrying", "connection refused"),
        ]),
      ],
    },
    policies: new Map(),
    monitors: { value: [] },
    extensions: { value: [createExtension("argocd", "argocd-operator"), createExtension("strict", "p", { policy: "strict" })] },
    permissions: {
      value: [createPermissions("argocd", { state: "Pending", message: "bundle a.v1: 2 permission rules must be approved" })],
    },
    grants: { value: [createGrant("old")] },
  });
  expect(collectProblems(snapshot).every(({ next }) => next !== undefined)).toBe(true);
  await expect(formatDoctorReport({ width: 80, colour: false }, collectFindings(snapshot, "0.1.0"))).toMatchFileSnapshot(
    `${GOLDENS}/doctor-broken.txt`,
  );
});

test("doctor reports ClusterObjectSets that operator-controller has not taken over, and those of extensions that do not exist", () => {
  const createSet = (owner: string, revision: number): KubeObject => createObjectSet({ owner, revision, bundle: `${owner}.v1` });
  const objectSets = { value: [createSet("argocd", 1), createSet("argocd", 2), createSet("old", 7)] };
  const found = collectProblems(
    createSnapshot({
      objectSets,
      extensions: { value: [createExtension("argocd", "p")] },
      permissions: { value: [createPermissions("argocd", { state: "Granted" })] },
    }),
  );
  expect(found.map(({ check, status, message }) => `${status} ${check}: ${message}`)).toEqual([
    "warning ClusterExtension argocd: operator-controller has not taken over the objects of 2 object sets of the Go operator-controller (ClusterObjectSet argocd-1, ClusterObjectSet argocd-2) yet",
    "warning ClusterObjectSets: the extension of 1 object set of the Go operator-controller (ClusterObjectSet old-7) does not exist, so operator-controller does not remove them",
  ]);
});

describe("doctor in a broken installation", () => {
  test("doctor suggests a command with the actual system namespace when a policy is missing", () => {
    const { namespace, policies, ...rest } = createSnapshot({ policies: new Map() });
    const found = collectFindings({ ...rest, policies, namespace: "other" }, "0.1.0").find(({ check }) =>
      check.includes("service-accounts"),
    );
    expect(found?.next).toBe(`sed s/${namespace}/other/ config/samples/service-accounts.yaml | kubectl apply -f -`);
  });

  test.for([
    { name: "a server with too few ready replicas", parts: { ready: 1 }, want: ["warning", "1 of 2 replicas are ready"] },
    {
      name: "a missing leader",
      parts: { lease: { holderIdentity: "" } },
      want: ["problem", "no current leader: the last one has stopped"],
    },
    { name: "an unreadable Lease", parts: { lease: { renewTime: "soon" } }, want: ["problem", "has not renewed its Lease"] },
    {
      name: "servers with different images",
      parts: { image: "registry.example.com/olmv1:0.2.0" },
      want: ["warning", "the servers run different images"],
    },
    {
      name: "catalogs that are served over plain HTTP",
      parts: { args: ["/app/x.js", "--insecure-plain-http"] },
      want: ["warning", "catalogs are served over plain HTTP"],
    },
    {
      name: "a missing self-managed Secret",
      parts: { secret: undefined },
      want: ["problem", "Secret catalogd-serving-cert does not exist"],
    },
    {
      name: "a missing Secret of another certificate provider",
      parts: { secret: undefined, args: ["--leader-elect", "--serving-certificates=files", "--tls-cert=/x"] },
      want: ["problem", "Secret catalogd-cert does not exist"],
    },
  ] as const)("doctor reports $name", ({ parts, want: [status, message] }) => {
    expect(collectProblems(createWithCatalogd(parts as ProgramParts))).toEqual([
      expect.objectContaining({ status, message: expect.stringContaining(message) }),
    ]);
  });

  test.for([
    { days: 29, files: false, want: [] },
    { days: 20, files: false, want: ["warning"] },
    { days: 20, files: true, want: [] },
    { days: 6, files: true, want: ["warning"] },
    { days: -1, files: true, want: ["problem"] },
    { days: -1, files: false, want: ["problem"] },
  ])("doctor reports $want for a certificate that expires in $days days (from files: $files)", async ({ days, files, want }) => {
    const args = ["--leader-elect", ...(files ? ["--tls-cert=/x"] : ["--serving-certificates=self-managed"])];
    const found = collectProblems(createWithCatalogd({ secret: await createSecret("catalogd", days), args }));
    expect(found.map(({ status }) => status)).toEqual(want);
  });

  test("doctor reports a certificate for another host name", async () => {
    const secret = await createSecret("catalogd", 80, "other.ns.svc");
    expect(
      new X509Certificate(Buffer.from((secret["data"] as Record<string, string>)["tls.crt"] ?? "", "base64")).checkHost("other.ns.svc"),
    ).toBe("other.ns.svc");
    expect(collectProblems(createWithCatalogd({ secret, args: ["--tls-cert=/x", "--leader-elect"] }))[0]?.message).toContain(
      "it is not valid for catalogd-service.olmv1-system.svc",
    );
  });

  test("doctor reports a certificate Secret without the owner label, and an empty certificate Secret", () => {
    const { labels: _labels, ...metadata } = secrets.get("catalogd")!.metadata;
    expect(collectProblems(createWithCatalogd({ secret: { ...secrets.get("catalogd")!, metadata } }))[0]?.message).toContain(
      "catalogd does not write to it, because the Secret has no label",
    );
    const empty = { ...secrets.get("catalogd")!, data: {} };
    expect(collectProblems(createWithCatalogd({ secret: empty }))[0]?.message).toContain(
      "catalogd has not written a certificate to it yet",
    );
  });

  test("doctor lists the fields that an outdated CRD lacks", () => {
    const definitions = new Map(createSnapshot().definitions);
    const name = "clusterextensions.olm.operatorframework.io";
    const live = structuredClone((definitions.get(name) as { value: KubeObject }).value);
    const { versions } = live["spec"] as { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[] };
    const properties = versions[0]!.schema.openAPIV3Schema.properties.spec.properties as Record<string, unknown>;
    delete properties["suspend"];
    definitions.set(name, { value: live });
    expect(collectProblems(createSnapshot({ definitions }))).toEqual([
      expect.objectContaining({ status: "problem", message: "the CRD is from another version of olmv1: missing fields spec.suspend" }),
    ]);
  });

  test("doctor reports an outdated image tag, and ignores tags that are not versions", () => {
    const image = (tag: string): ClusterSnapshot =>
      createSnapshot({ programs: PROGRAMS.map(({ program }) => createProgram(program, { image: `r/olmv1:${tag}` })) });
    expect(collectProblems(image("dev"))).toEqual([]);
    expect(collectProblems(image("v0.0.9"))).toEqual([expect.objectContaining({ status: "warning", check: "versions" })]);
  });

  test("doctor reports status unknown when the user lacks the permission for a check", () => {
    const found = collectProblems(createSnapshot({ catalogs: { refused: "clustercatalogs is forbidden" } }));
    expect(found).toEqual([expect.objectContaining({ status: "unknown", check: "catalogs" })]);
  });

  test("computeExitCode returns 2 when a check could not run, unless another check found a problem", () => {
    const refused = { refused: "forbidden" } as const;
    const none = createSnapshot({
      definitions: new Map([...createSnapshot().definitions.keys()].map((name) => [name, refused])),
      programs: PROGRAMS.map(({ program }) => ({ ...createProgram(program), deployment: refused, lease: refused })),
      catalogs: refused,
      policies: new Map(POLICIES.map((ref) => [formatPolicyKey(ref), refused])),
      monitors: refused,
    });
    const exits = [
      none,
      createSnapshot({ catalogs: refused }),
      createSnapshot({ catalogs: { value: [] } }),
      createWithCatalogd({ ready: 0 }),
    ];
    expect(exits.map((snapshot) => computeExitCode(collectFindings(snapshot, "0.1.0")))).toEqual([
      EXIT.error,
      EXIT.error,
      EXIT.yes,
      EXIT.no,
    ]);
    const old = { ...none, serverVersion: "v1.29.4" };
    expect(computeExitCode(collectFindings(old, "0.1.0"))).toBe(EXIT.no);
  });

  test("doctor reports no problem when the leaders run outside the cluster and renew their Leases", () => {
    const outside = (parts?: ProgramParts): ClusterSnapshot =>
      createSnapshot({ programs: PROGRAMS.map(({ program }) => ({ ...createProgram(program, parts), deployment: { value: undefined } })) });
    expect(collectProblems(outside())).toEqual([]);
    const message = "it does not exist, because catalogd-abc runs catalogd outside the cluster, as olmv1 dev does";
    expect(collectFindings(outside(), "0.1.0")).toContainEqual({ check: "Deployment catalogd-controller-manager", status: "ok", message });
    const silent = outside({ lease: { renewTime: new Date(NOW - 200_000).toISOString() } });
    expect(collectProblems(silent).filter(({ status }) => status === "problem")).toHaveLength(6);
  });

  test("doctor prints the number of checks that could not run", () => {
    const text = formatDoctorReport(
      { width: 200, colour: false },
      collectFindings(createSnapshot({ catalogs: { refused: "forbidden" } }), "0.1.0"),
    );
    expect(text).toMatch(/\n\n0 problems, 0 warnings; \d+ checks made, 1 could not be made\n$/);
  });

  test("doctor warns when no catalog exists", () => {
    expect(collectProblems(createSnapshot({ catalogs: { value: [] } }))).toEqual([
      expect.objectContaining({ status: "warning", message: "no ClusterCatalog exists, so nothing can be installed" }),
    ]);
  });
});

describe("doctor checks permissions", () => {
  const argocd = createExtension("argocd", "argocd-operator");

  test.for<[what: string, parts: Partial<ClusterSnapshot>, want: Partial<DoctorFinding>[]]>([
    ["nothing for granted permissions", { permissions: { value: [createPermissions("argocd", { state: "Granted" })] } }, []],
    [
      "rules that wait for approval",
      { permissions: { value: [createPermissions("argocd", { state: "Pending", message: "2 rules must be approved" })] } },
      [{ status: "warning", message: "2 rules must be approved", next: "olmv1 permissions approve argocd" }],
    ],
    [
      "an approval that lapsed",
      { permissions: { value: [createPermissions("argocd", { state: "Pending", message: "1 rule", approval: "sha256:old" })] } },
      [{ status: "warning", message: "1 rule; the last approval has lapsed, because the rules changed" }],
    ],
    [
      "an approval that permission-manager has not read yet as pending",
      { permissions: { value: [createPermissions("argocd", { state: "Pending", message: "1 rule", approval: "sha256:new" })] } },
      [{ status: "warning", message: "1 rule" }],
    ],
    [
      "denied rules",
      { permissions: { value: [createPermissions("argocd", { state: "Denied", message: "the policy denies 1 rule" })] } },
      [{ status: "problem", message: "the policy denies 1 rule", next: "olmv1 permissions show argocd" }],
    ],
    [
      "a request that cannot be verified",
      { permissions: { value: [createPermissions("argocd", { state: "Failed", message: "not in the catalog" })] } },
      [{ status: "problem", message: "the request cannot be verified: not in the catalog" }],
    ],
    [
      "a request without decision",
      { permissions: { value: [createPermissions("argocd", {})] } },
      [{ status: "warning", message: "permission-manager has not decided yet" }],
    ],
    [
      "permissions of an extension that does not exist",
      { permissions: { value: [createPermissions("gone", { state: "Granted" })] }, grants: { value: [createGrant("gone")] } },
      [
        { check: "ExtensionPermissions gone", status: "warning", next: "kubectl delete extensionpermissions gone" },
        {
          check: "permissions of gone",
          message: "no extension needs ClusterRole olmv1-extension-gone: ClusterExtension gone does not exist",
        },
      ],
    ],
    [
      "permissions of an extension with its own ServiceAccount",
      { extensions: { value: [argocd, createExtension("own", "p", { account: "installer" })] }, grants: { value: [createGrant("own")] } },
      [{ check: "permissions of own", message: expect.stringContaining("ClusterExtension own uses ServiceAccount installer") }],
    ],
    [
      "a policy that does not exist",
      { extensions: { value: [argocd, createExtension("strict", "p", { policy: "strict" })] } },
      [{ check: "PermissionPolicy strict", status: "problem", next: "kubectl edit clusterextension strict" }],
    ],
    [
      "a policy that covers no extension",
      { permissionPolicies: { value: [createPolicy("default"), createPolicy("redis", { packages: ["redis-*"] })] } },
      [
        {
          check: "PermissionPolicy redis",
          status: "warning",
          message: 'it covers no extension: covers.packages does not contain "argocd-operator"',
          next: "kubectl edit permissionpolicy redis",
        },
      ],
    ],
    [
      "a policy whose selector selects no catalog",
      { permissionPolicies: { value: [createPolicy("default", { catalogs: { matchLabels: { tier: "certified" } } })] } },
      [{ status: "warning", message: "it covers nothing: covers.catalogs selects no ClusterCatalog" }],
    ],
    [
      "a policy with an invalid selector",
      { permissionPolicies: { value: [createPolicy("x", { catalogs: { matchExpressions: [{ key: "a", operator: "Like" }] } })] } },
      [{ status: "problem", message: 'covers.catalogs is invalid: "Like" is not a valid label selector operator' }],
    ],
    [
      "that permissions cannot be listed",
      { permissions: { refused: "forbidden" } },
      [{ check: "ExtensionPermissions", status: "unknown" }],
    ],
  ])("doctor reports %s", ([, parts, want]) => {
    const found = collectProblems(createSnapshot({ extensions: { value: [argocd] }, ...parts }));
    expect(found).toEqual(want.map((one) => expect.objectContaining(one)));
  });

  test("doctor needs neither permission-manager nor its policies when operator-controller does not use it", () => {
    const args = ["--leader-elect", "--serving-certificates=self-managed", "--managed-permissions=off"];
    const snapshot = createSnapshot({
      programs: PROGRAMS.map(({ program }) =>
        program === "permission-manager"
          ? { ...createProgram(program, { lease: undefined }), deployment: { value: undefined } }
          : createProgram(program, { args }),
      ),
      policies: new Map([...createSnapshot().policies].filter(([name]) => !name.includes(" olmv1-"))),
      grants: { value: [createGrant("gone")] },
    });
    expect(collectProblems(snapshot)).toEqual([]);
  });

  test("doctor does not report permissions of extensions with a ServiceAccount when operator-controller ignores it", () => {
    const extensions = { value: [createExtension("own", "p", { account: "installer" })] };
    const args = ["--leader-elect", "--serving-certificates=self-managed", "--managed-permissions=always"];
    const programs = PROGRAMS.map(({ program }) => createProgram(program, { args }));
    expect(collectProblems(createSnapshot({ programs, extensions, grants: { value: [createGrant("own")] } }))).toEqual([]);
  });
});

describe("doctor checks registries", () => {
  const set = (spec: object, name = "m"): KubeObject => ({
    apiVersion: "config.openshift.io/v1",
    kind: "ImageDigestMirrorSet",
    metadata: { name },
    spec: { imageDigestMirrors: [spec] },
  });
  const image = (spec: object): KubeObject => ({
    apiVersion: "config.openshift.io/v1",
    kind: "Image",
    metadata: { name: "cluster" },
    spec,
  });
  const configMap = (conf: string): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: NAMESPACE, name: "olmv1-registries" },
    data: { "registries.conf": conf },
  });
  const withSets = (...objects: KubeObject[]): Partial<RegistrySnapshot> => ({
    mirrors: MIRROR_KINDS.map(({ kind }) => ({ kind, objects: { value: kind === "ImageDigestMirrorSet" ? objects : [] } })),
    reader: { value: image({}) },
  });
  const findings = (parts: Partial<RegistrySnapshot>): string[] => {
    const all = collectFindings(createSnapshot({ registries: { ...NO_REGISTRIES, ...parts } }), "0.1.0");
    const others = new Set(collectFindings(createSnapshot(), "0.1.0").map((finding) => JSON.stringify(finding)));
    const own = all.filter((finding) => !others.has(JSON.stringify(finding)));
    return own.map(({ status, check, message, next }) => `${status}: ${check}: ${message}${next === undefined ? "" : ` → ${next}`}`);
  };

  test.for<[what: string, parts: Partial<RegistrySnapshot>, want: string[]]>([
    ["nothing without settings", {}, []],
    [
      "each mirror with its object",
      withSets(set({ source: "quay.io/ns", mirrors: ["m.com/a", "m.com/b"], mirrorSourcePolicy: "NeverContactSource" })),
      ['ok: registries: "quay.io/ns": mirrors "m.com/a" (by digest), "m.com/b" (by digest), then blocked; from ImageDigestMirrorSet "m"'],
    ],
    [
      "the file of a server instead of an object for the same prefix",
      {
        ...withSets(set({ source: "quay.io", mirrors: ["m.com"] })),
        files: [{ origin: "file of X", text: { value: '[[registry]]\nprefix = "quay.io"\nlocation = "other.com"\ninsecure = true\n' } }],
      },
      ['ok: registries: "quay.io": "other.com" (insecure); from file of X'],
    ],
    [
      "allowed registries",
      { image: { value: image({ registrySources: { allowedRegistries: ["quay.io", "a.com"] } }) }, reader: { value: image({}) } },
      ['ok: registries: only images of "quay.io", "a.com" are allowed; from Image "cluster"'],
    ],
    [
      "mirrors that the servers cannot read",
      { ...withSets(set({ source: "quay.io", mirrors: ["m.com"] })), reader: NOTHING },
      [
        "problem: registries: the servers cannot read the mirrors of the cluster: ClusterRoleBinding olmv1-registries-reader does not exist → use config/openshift in your kustomization.yaml, or set openshift.enabled of the chart",
        'ok: registries: "quay.io": mirror "m.com" (by digest), then the registry itself; from ImageDigestMirrorSet "m"',
      ],
    ],
    [
      "an Image cluster that the servers cannot read",
      { image: { value: image({}) }, reader: NOTHING },
      [
        'problem: registries: the servers cannot read Image "cluster", so they reject every image: ClusterRoleBinding olmv1-registries-reader does not exist → use config/openshift in your kustomization.yaml, or set openshift.enabled of the chart',
      ],
    ],
    [
      "an invalid mirror",
      withSets(set({ source: "quay.io", mirrors: ["https://u:s3cr3t@m.com"] })),
      [
        'warning: ImageDigestMirrorSet "m": invalid mirror "https://[redacted]@m.com" of source "quay.io" → kubectl edit imagedigestmirrorset m',
      ],
    ],
    [
      "an invalid ConfigMap",
      { configMaps: [{ value: configMap("[[registry") }] },
      [
        expect.stringMatching(
          /^problem: ConfigMap "olmv1-system\/olmv1-registries": registries.conf: line 1, .*: no image is pulled until it is corrected → kubectl -n olmv1-system edit configmap olmv1-registries$/,
        ) as string,
      ],
    ],
    [
      "certificate authorities that do not exist",
      { image: { value: image({ additionalTrustedCA: { name: "cas" } }) }, reader: { value: image({}) } },
      [
        'warning: Image "cluster": spec.additionalTrustedCA names ConfigMap openshift-config/cas, which does not exist → kubectl -n openshift-config create configmap cas --from-file=HOST..PORT=FILE',
      ],
    ],
    [
      "that an object cannot be read",
      { image: { refused: "images.config.openshift.io is forbidden" } },
      ["unknown: registries: cannot check: images.config.openshift.io is forbidden → ask a cluster administrator"],
    ],
  ])("doctor reports %s", ([, parts, want]) => {
    expect(findings(parts)).toEqual(want);
  });

  test("doctor lists at most fifty registries", () => {
    const sets = Array.from({ length: 60 }, (_, index) => set({ source: `r${index}.com`, mirrors: ["m.com"] }, `m${index}`));
    const found = findings(withSets(...sets));
    expect([found.length, found.at(-1)]).toEqual([51, "ok: registries: 10 more registries with settings"]);
  });
});
