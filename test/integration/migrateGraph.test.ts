import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, PERMISSION_POLICY } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { createBackup } from "../../pkg/migrate/objectBackup.ts";
import { ClassicOperator } from "../support/classicOperator.ts";
import { ClassicRecording } from "../support/classicRecording.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { FaultProxy } from "../support/faultProxy.ts";
import { KillPoint } from "../support/killPoint.ts";
import { chooseKillSample, formatKillSample, isSampled } from "../support/killSample.ts";
import { buildProxyKubeconfig } from "../support/killWorld.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { MigrationWorld, TemplateWatch } from "../support/migrationWorld.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { describeWithData } from "../support/sharedData.ts";

/** Each depends on the next one. OLM v0 recorded the first two in namespace op-dep. */
const PACKAGES = ["ndmspc-operator", "limitador-operator", "skupper-operator"] as const;
const NAMESPACE = "op-dep";
const CLASSIC = "operators.coreos.com/v1alpha1";
/** Few of about 130 kill points are tested by default, because each takes about 20 seconds. */
const SAMPLE = chooseKillSample(process.env, 60);
/** The extensions of the packages if none exists. */
const NONE = PACKAGES.map(() => undefined);
/** The only lines on standard error: progress of slow steps. */
const PROGRESS = /^(olmv1: .* \(\d+ s\)\n)*$/;

describeWithData("a graph of operators that OLM v0 installed on a real cluster", (folder) => {
  describeWithPrivateCluster("olmv1 migrate with managed permissions", (cluster) => {
    const recording = ClassicRecording.read(folder).withDependency(PACKAGES[1], PACKAGES[2]);
    const operators = PACKAGES.map((name) => recording.get(name));
    const dependency = recording.get(PACKAGES[1]);
    let world: MigrationWorld;
    let templates: TemplateWatch;
    let olm: ClassicOperator;

    const read = (packageName: string): Promise<KubeObject | undefined> =>
      cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: recording.get(packageName).subscription });
    /** Returns the names of the Subscriptions and ClusterServiceVersions in the namespace. */
    const listClassic = async (): Promise<string[]> => {
      const kinds = ["Subscription", "ClusterServiceVersion"].map((kind) => ({ apiVersion: CLASSIC, kind }));
      const found = await Promise.all(
        kinds.map((kind) => cluster.client.list(kind, { namespace: NAMESPACE, labelSelector: "!olm.copiedFrom" })),
      );
      return found.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)).sort();
    };
    /** Returns the objects of OLM v0 without the fields that the API server sets. */
    const readClassic = async (): Promise<unknown[]> => {
      const kinds = ["Subscription", "ClusterServiceVersion"].map((kind) => ({ apiVersion: CLASSIC, kind }));
      const groups = { apiVersion: "operators.coreos.com/v1", kind: "OperatorGroup" };
      const found = await Promise.all([...kinds, groups].map((kind) => cluster.client.list(kind, { namespace: NAMESPACE })));
      return found.flatMap(({ items }) => items.map(createBackup)).map(({ metadata, ...rest }) => [metadata, rest]);
    };
    /** Returns the number of states of each Pod template, sorted. */
    const countTemplates = (): number[] => [...templates.templates.values()].map(({ length }) => length).sort((a, b) => a - b);
    const expectNoRestart = (): void => {
      expect([...templates.templates].filter(([, states]) => states.length > 1)).toEqual([]);
      expect(olm.errors).toEqual([]);
    };
    const migrate = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await world.migrate([...args, "-n", NAMESPACE]);
      expect([args, code, err], out).toEqual([args, 0, expect.stringMatching(PROGRESS)]);
      return out;
    };

    beforeAll(async () => {
      world = await MigrationWorld.start(cluster, {
        folder,
        recording,
        packages: PACKAGES,
        isManaged: true,
        dependencies: { [PACKAGES[0]]: PACKAGES[1], [PACKAGES[1]]: PACKAGES[2] },
      });
      await cluster.client.create({ ...PERMISSION_POLICY, metadata: { name: "default" }, spec: { grant: "Automatic" } });
      templates = new TemplateWatch(cluster);
      olm = new ClassicOperator(cluster.client);
      await eventually(() => expect(olm.written.size).toBe(PACKAGES.length));
    }, 300_000);
    afterAll(async () => {
      await olm[Symbol.asyncDispose]();
      await templates[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });

    test("olmv1 migrate check reports operators that depend on each other as eligible, and a dependency alone as ineligible", async () => {
      const out = await migrate("check");
      for (const { subscription } of operators) expect(out).toMatch(new RegExp(`/${subscription}: Eligible$`, "m"));
      const alone = await world.migrate(["convert", dependency.subscription, "-n", NAMESPACE]);
      expect([alone.code, alone.out]).toEqual([1, expect.stringContaining("convert them together: olmv1 migrate convert --all")]);
    });

    test("olmv1 migrate convert --all plans operators that depend on each other as one change, and writes nothing", async () => {
      const before = await listClassic();
      const out = await migrate("convert", "--all");
      for (const { subscription } of operators) expect(out).toMatch(new RegExp(`${subscription} .*no Pod restarts; together with `));
      expect(out).toContain(`olmv1 migrate convert --all -n ${NAMESPACE} --yes\n`);
      expect(await listClassic()).toEqual(before);
      expect(await Promise.all(PACKAGES.map(read))).toEqual(NONE);
    });

    test("olmv1 migrate convert converts a graph without a restart, and each extension checks its dependencies", async () => {
      const before = await listClassic();
      await migrate("convert", ...operators.map(({ subscription }) => subscription), "--yes");
      expect(await listClassic()).toEqual([]);
      for (const packageName of PACKAGES) {
        const spec = (await read(packageName))?.["spec"] as Record<string, unknown>;
        expect([spec["serviceAccount"], spec["dependencies"]]).toEqual([undefined, undefined]);
      }
      expectNoRestart();
      await migrate("rollback", "--all", "--yes");
      await eventually(async () => expect(await listClassic()).toEqual(before));
      expect(await Promise.all(PACKAGES.map(read))).toEqual(NONE);
      expectNoRestart();
    });

    test(
      "olmv1 migrate continues a graph, or rolls it back, after it was killed between any two writes",
      async () => {
        const before = await readClassic();
        await using proxy = await FaultProxy.start(cluster.server);
        await serviceAccount(cluster.client, NAMESPACE, "administrator", [EVERYTHING, { nonResourceURLs: ["*"], verbs: ["*"] }]);
        const kubeconfig = world.path("killed");
        const token = await new ServiceAccountTokens(cluster.client).tokenFor(NAMESPACE, "administrator")();
        await writeFile(kubeconfig, buildProxyKubeconfig(proxy, { token }));
        let [kills, isOver] = [0, false];
        for (let writes = 0; !isOver; writes++) {
          if (!isSampled(SAMPLE, writes)) continue;
          const point = new KillPoint(proxy, writes, ({ dryRun }) => !dryRun);
          const stop = new AbortController();
          const running = world.migrate(["convert", "--all", "-n", NAMESPACE, "--yes"], undefined, { kubeconfig, stop });
          isOver = (await Promise.race([running.then(() => "over"), point.settled.then(() => "killed")])) === "over";
          stop.abort();
          point.drop();
          await running;
          if (!isOver) kills++;
          if (kills % 2 === 1) {
            await migrate("convert", "--all", "--yes");
            expect(await listClassic()).toEqual([]);
          }
          await migrate("rollback", "--all", "--yes");
          expect([writes, await Promise.all(PACKAGES.map(read))]).toEqual([writes, NONE]);
          await eventually(async () => expect([writes, await readClassic()]).toEqual([writes, before]));
          expectNoRestart();
        }
        process.stdout.write(`${kills} kills (${formatKillSample(SAMPLE)})\n`);
        expect(kills).toBeGreaterThan(1);
      },
      SAMPLE.stride === 1 ? 7_200_000 : 600_000,
    );

    test("olmv1 migrate converts operators whose Subscriptions were deleted, and creates none in a rollback", async () => {
      const subscriptions = { apiVersion: CLASSIC, kind: "Subscription" };
      const { items } = await cluster.client.list(subscriptions, { namespace: NAMESPACE });
      for (const item of items) await cluster.client.delete(toObjectRef(item), { propagationPolicy: "Orphan" });
      const before = operators.map(({ csv }) => csv).sort();
      await eventually(async () => expect(await listClassic()).toEqual(before));
      // OLM v0 removes spec.config with the Subscription, which restarts the Pods of one operator
      await eventually(() => expect(countTemplates()).toEqual([1, 1, 2]));
      const out = await migrate("check");
      for (const packageName of PACKAGES) expect(out).toMatch(new RegExp(`/${packageName}: Eligible\\n.* has no Subscription`, "m"));
      await migrate("convert", "--all", "--yes");
      expect(await listClassic()).toEqual([]);
      await migrate("rollback", "--all", "--yes");
      await eventually(async () => expect(await listClassic()).toEqual(before));
      expect(countTemplates()).toEqual([1, 1, 2]);
      expect(olm.errors).toEqual([]);
    });
  });
});
