import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROGRAM_VERSION } from "../../cmd/internal/program.ts";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { LEASE } from "../../pkg/controller/lease.ts";
import { renderTokenKubeconfig } from "../../pkg/devcluster/kubeconfig.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import type { DoctorFinding } from "../../pkg/doctor/clusterSnapshot.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { renderKustomization } from "../support/manifests.ts";
import { Replicas } from "../support/replicas.ts";
import { runCli } from "../support/runCli.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";

describeWithPrivateCluster("olmv1 doctor", (cluster) => {
  const programs: Replicas[] = [];

  beforeAll(async () => {
    for (const object of await renderKustomization("config")) await cluster.client.apply(object, { fieldManager: "test", force: true });
    for (const program of ["catalogd", "operator-controller", "permission-manager"] as const) {
      const replicas = await Replicas.start(cluster, program);
      programs.push(replicas);
      const [port = 0] = await findFreePorts(1);
      const certificates = ["--serving-certificates=self-managed", `--metrics-bind-address=127.0.0.1:${port}`];
      const flags = program === "permission-manager" ? [] : certificates;
      if (program === "catalogd") flags.push(`--external-address=catalogd-service.${SYSTEM_NAMESPACE}.svc`);
      const replica = await replicas.add(program, flags);
      await replicas.ready(replica);
      await replicas.leads(replica);
    }
  });
  afterAll(() => Promise.all(programs.map((each) => each.stop())));

  async function runDoctor(): Promise<{ code: number; findings: DoctorFinding[] }> {
    const { code, out, err } = await runCli(["doctor", "--kubeconfig", cluster.kubeconfig, "-o", "json"]);
    expect(err).toBe("");
    return { code, findings: (JSON.parse(out) as { findings: DoctorFinding[] }).findings };
  }
  const summarize = (findings: readonly DoctorFinding[]): string[] =>
    findings.filter(({ status }) => status !== "ok").map(({ status, check }) => `${status}: ${check}`);

  test("olmv1 doctor reports no problem for the objects of config when all servers run", async () => {
    await eventually(async () => {
      const { code, findings } = await runDoctor();
      expect([code, summarize(findings)]).toEqual([
        0,
        ["warning: catalogs", "warning: ValidatingAdmissionPolicyBinding clusterextension-service-accounts"],
      ]);
      expect(findings.map(({ check, message }) => `${check}: ${message}`)).toContainEqual(
        expect.stringMatching(/^certificate of catalogd: issued by the program, valid until \S+, 8\d days$/),
      );
    });
  });

  test("olmv1 version prints the version of each leader, and no version for a server whose leader has stopped renewing its Lease", async () => {
    const readVersions = async (): Promise<unknown> =>
      JSON.parse((await runCli(["version", "--kubeconfig", cluster.kubeconfig, "-o", "json"])).out);
    const current = { version: PROGRAM_VERSION };
    expect(await readVersions()).toMatchObject({
      servers: { catalogd: current, "operator-controller": current, "permission-manager": current },
      kubernetes: { version: expect.stringMatching(/^v1\./) },
    });
    // A leader that stops releases its Lease, so the test writes the Lease that a crashed leader leaves.
    const server = programs.shift();
    await server?.stop();
    const ref = { ...LEASE, namespace: SYSTEM_NAMESPACE, name: "catalogd-operator-lock" };
    const crashed = { holderIdentity: "crashed", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" };
    await cluster.client.patch(ref, { spec: crashed }, { type: "merge" });
    expect(await readVersions()).toMatchObject({
      servers: { catalogd: { unknown: expect.stringMatching(/^no leader in namespace /) }, "operator-controller": current },
    });
  });

  test("olmv1 doctor exits with 1 and reports the problems when no server runs", async () => {
    for (const each of programs) await each.stop();
    const secret = { apiVersion: "v1", kind: "Secret", namespace: SYSTEM_NAMESPACE, name: "catalogd-serving-cert" };
    await cluster.client.patch(secret, { data: { "tls.key": "" } }, { type: "merge" });
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: SYSTEM_NAMESPACE, name: "catalogd-controller-manager" };
    await cluster.client.patch(deployment, { spec: { replicas: 0 } }, { type: "merge" });
    const { code, findings } = await runDoctor();
    expect([code, summarize(findings).filter((text) => text.startsWith("problem"))]).toEqual([
      1,
      [
        "problem: Deployment catalogd-controller-manager",
        "problem: leader of catalogd",
        "problem: leader of operator-controller",
        "problem: leader of permission-manager",
        "problem: certificate of catalogd",
      ],
    ]);
    const template = 'jsonpath={range .findings[?(@.status=="problem")]}{.check}{"\\n"}{end}';
    const run = await runCli(["doctor", "--kubeconfig", cluster.kubeconfig, "-o", template]);
    expect([run.code, run.out.split("\n").length]).toEqual([1, 6]);
  });

  test("olmv1 doctor exits with 2 when a user cannot read all objects, and lists each failed check", async () => {
    await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "readers" } }, { fieldManager: "test" });
    await serviceAccount(cluster.client, "readers", "nobody", []);
    const folder = await mkdtemp(join(tmpdir(), "olmv1-doctor-"));
    try {
      const token = join(folder, "token");
      await writeFile(token, await new ServiceAccountTokens(cluster.client).tokenFor("readers", "nobody")());
      const kubeconfig = join(folder, "kubeconfig");
      await writeFile(kubeconfig, await renderTokenKubeconfig(cluster.kubeconfig, token));
      const { code, out } = await runCli(["doctor", "--kubeconfig", kubeconfig], { width: 200 });
      expect([code, out]).toEqual([2, expect.stringMatching(/0 problems, .* checks? made, \d+ could not be made\n$/)]);
      expect(out).toContain("cannot check: clustercatalogs.olm.operatorframework.io is forbidden");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("olmv1 doctor reports that nothing is installed in --system-namespace, and exits with 2 without a cluster", async () => {
    const elsewhere = await runCli(["doctor", "--kubeconfig", cluster.kubeconfig, "--system-namespace", "default"], { width: 200 });
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.out).toContain("it does not exist in namespace default");
    expect((await runCli(["doctor", "--kubeconfig", "/nowhere"])).code).toBe(2);
  });
});
