import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { ClassicOperator } from "../support/classicOperator.ts";
import { ClassicRecording, type RecordedPackage } from "../support/classicRecording.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { MigrationWorld, TemplateWatch } from "../support/migrationWorld.ts";
import { describeWithData } from "../support/sharedData.ts";

const CLASSIC = "operators.coreos.com";
const NAME = "all operators that OLM v0 installed on a real cluster";
const IS_REQUESTED = process.env["OLMV1_TEST_ALL_OPERATORS"] === "1";
/** The bundle contains a custom resource that its own CustomResourceDefinition rejects, so the API server rejects the bundle in a dry run. */
const REFUSED = "ecr-secret-operator";
const CONVERT = ["convert", "--all", "--keep-going", "--parallel", "4", "--create-service-account", "--yes"];
const HEAD = ["operator", "watches", "`check`", "`convert`", "restarts", "`rollback`", "restarts", "`convert`", "`cleanup`", "restarts"];

/** The result of a command for one Subscription. */
interface Line {
  readonly namespace: string;
  readonly subscription: string;
  readonly result?: string;
  readonly state?: string;
  readonly detail?: string;
  readonly reasons?: readonly { readonly message: string }[];
}

if (!IS_REQUESTED) console.warn(`SKIPPED ${NAME}: the test takes about 6 minutes. To run it, set OLMV1_TEST_ALL_OPERATORS=1`);

describe.skipIf(!IS_REQUESTED)(NAME, () => {
  describeWithData("the recorded state", (folder) =>
    describeWithPrivateCluster("olmv1 migrate", (cluster) => {
      const recording = ClassicRecording.read(folder);
      const { packages } = recording;
      const converted = packages.filter(({ packageName }) => packageName !== REFUSED);
      /** The cells of the table, by package. */
      const rows = new Map<string, string[]>(packages.map(({ packageName }) => [packageName, []]));
      let world: MigrationWorld;
      let templates: TemplateWatch;
      let olm: ClassicOperator;

      /** Runs a command with JSON output. @returns its lines by package */
      const run = async (...args: string[]): Promise<ReadonlyMap<string, Line>> => {
        const { out, err } = await world.migrate([...args, "-o", "json"]);
        const { items } = JSON.parse(out || "{}") as { items?: Line[] };
        if (!items) throw new Error(`olmv1 migrate ${args.join(" ")} failed: ${err}`);
        const find = ({ namespace, subscription }: Line): RecordedPackage | undefined =>
          packages.find((one) => one.namespace === namespace && one.subscription === subscription);
        return new Map(items.map((line) => [find(line)?.packageName ?? line.subscription, line]));
      };
      const note = (packageName: string, cell: string): void => void rows.get(packageName)?.push(cell);
      /** Runs a command for all operators, and adds its results to the table. @returns the results that differ from the expected one */
      const runAll = async (expected: string, ...args: string[]): Promise<unknown[]> => {
        const lines = await run(...args);
        const wrong: unknown[] = [];
        for (const { packageName } of converted) {
          const { result, state, detail } = lines.get(packageName) ?? {};
          note(packageName, result ?? state ?? "(none)");
          if ((result ?? state) !== expected) wrong.push([packageName, result ?? state, detail]);
        }
        return wrong;
      };
      /** Adds the numbers of restarts since the start to the table. @returns the Deployments whose Pods restarted */
      const countRestarts = (): string[] => {
        const restarted = [...templates.templates].filter(([, states]) => states.length > 1).map(([key]) => key);
        for (const { packageName, namespace, csv } of converted) {
          const own = deployments.filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.["olm.owner"] === csv);
          const counts = own.map(({ metadata }) => (templates.templates.get(`${namespace}/${metadata.name}`)?.length ?? 1) - 1);
          note(packageName, String(counts.reduce((sum, count) => sum + count, 0)));
        }
        return restarted;
      };
      let deployments: readonly KubeObject[] = [];
      /** Returns the objects of OLM v0 that no cleanup should leave, without those of the refused operator. */
      const listClassic = async (): Promise<string[]> => {
        const kinds = ["Subscription", "ClusterServiceVersion", "InstallPlan"].map((kind) => ({ apiVersion: `${CLASSIC}/v1alpha1`, kind }));
        const all = [...kinds, { apiVersion: `${CLASSIC}/v1`, kind: "Operator" }];
        const found = await Promise.all(all.map((kind) => cluster.client.list(kind)));
        const { namespace } = recording.get(REFUSED);
        return found
          .flatMap(({ items }) => items)
          .filter(({ metadata: { name, ...metadata } }) => metadata.namespace !== namespace && name !== `${REFUSED}.${namespace}`)
          .filter(({ metadata }) => metadata.labels?.["olm.copiedFrom"] !== namespace)
          .map(describeObject);
      };

      beforeAll(async () => {
        world = await MigrationWorld.start(cluster, { folder, recording, packages: packages.map(({ packageName }) => packageName) });
        deployments = (await cluster.client.list({ apiVersion: "apps/v1", kind: "Deployment" })).items;
        templates = new TemplateWatch(cluster);
        olm = new ClassicOperator(cluster.client);
        await eventually(() => expect(olm.written.size).toBe(deployments.length));
      }, 300_000);
      afterAll(async () => {
        await olm[Symbol.asyncDispose]();
        await templates[Symbol.asyncDispose]();
        await world[Symbol.asyncDispose]();
      });

      test("olmv1 migrate converts, rolls back and cleans up all recorded operators without a restart, or check refuses them", async () => {
        const verdicts = await run("check");
        for (const { packageName, namespace } of packages) {
          const { items } = await cluster.client.list({ apiVersion: `${CLASSIC}/v1`, kind: "OperatorGroup" }, { namespace });
          const targets = ((items[0] as { status?: { namespaces?: string[] } } | undefined)?.status?.namespaces ?? []).filter(
            (one) => one !== "",
          );
          note(packageName, targets.length === 0 ? "all" : targets.join() === namespace ? "own" : targets.join(", "));
          note(packageName, verdicts.get(packageName)?.state ?? "(none)");
        }
        expect(verdicts.get(REFUSED)?.reasons?.map(({ message }) => message)).toEqual([
          expect.stringContaining("field not declared in schema"),
        ]);
        const wrong: unknown[] = [];
        wrong.push(...(await runAll("Converted", ...CONVERT, "--report", world.path("report.json"))), ...countRestarts());
        const report = JSON.parse(await readFile(world.path("report.json"), "utf8")) as { counts: unknown };
        expect(report.counts).toEqual({ Converted: converted.length, Refused: 1 });
        wrong.push(...(await runAll("RolledBack", "rollback", "--all", "--keep-going", "--yes")), ...countRestarts());
        wrong.push(...(await runAll("Converted", ...CONVERT)));
        wrong.push(...(await runAll("CleanedUp", "cleanup", "--all", "--keep-going", "--yes")), ...countRestarts());
        await eventually(async () => expect(await listClassic()).toEqual([]));
        const table = [
          HEAD,
          HEAD.map(() => "---"),
          ...[...rows].map(([packageName, cells]) => HEAD.map((_, at) => [packageName, ...cells][at] ?? "")),
        ];
        process.stdout.write(table.map((cells) => `| ${cells.join(" | ")} |\n`).join(""));
        expect(wrong).toEqual([]);
        expect(olm.errors).toEqual([]);
      }, 1_200_000);
    }),
  );
});
