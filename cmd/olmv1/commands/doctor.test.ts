import { X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { buildCrd, KINDS } from "../../../pkg/api/customResourceDefinitions.ts";
import type { Condition, KubeObject } from "../../../pkg/api/k8s.ts";
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
import { issueCertificate } from "../../../pkg/serving/issueWorker.ts";
import { EXIT } from "../cli/errors.ts";
import { collectFindings, computeExitCode, formatDoctorReport } from "./doctor.ts";

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
    policies: new Map(POLICIES.map((ref) => [formatPolicyKey(ref), { value: bound }])),
    monitors: { value: undefined },
    ...parts,
  };
}

const collectProblems = (facts: ClusterSnapshot): DoctorFinding[] =>
  collectFindings(facts, "0.1.0").filter(({ status }) => status !== "ok");
const createWithCatalogd = (parts: ProgramParts): ClusterSnapshot =>
  createSnapshot({ programs: [createProgram("catalogd", parts), createProgram("operator-controller")] });

test("doctor reports no problems in a working installation", async () => {
  const facts = createSnapshot();
  expect(collectProblems(facts)).toEqual([]);
  const text = formatDoctorReport({ width: 80, colour: false }, collectFindings(facts, "0.1.0"));
  const ends = new Date(NOW + 80 * DAY).toISOString().slice(0, 10);
  expect(text).toContain(ends);
  await expect(text).toMatchFileSnapshot(`${GOLDENS}/doctor-healthy.txt`);
});

test("doctor suggests a fix for each problem when many parts of an installation fail", async () => {
  const damaged = {
    ...secrets.get("operator-controller")!,
    data: { ...(secrets.get("operator-controller")?.["data"] as object), "tls.key": "" },
  };
  const facts = createSnapshot({
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
  });
  expect(collectProblems(facts).every(({ next }) => next !== undefined)).toBe(true);
  await expect(formatDoctorReport({ width: 80, colour: false }, collectFindings(facts, "0.1.0"))).toMatchFileSnapshot(
    `${GOLDENS}/doctor-broken.txt`,
  );
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
    expect(exits.map((facts) => computeExitCode(collectFindings(facts, "0.1.0")))).toEqual([EXIT.error, EXIT.error, EXIT.yes, EXIT.no]);
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
    expect(collectProblems(silent).filter(({ status }) => status === "problem")).toHaveLength(4);
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
