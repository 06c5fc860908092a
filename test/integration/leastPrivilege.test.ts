import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toObjectRef } from "../../pkg/api/k8s.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { PermissionTrials } from "../support/permissionTrials.ts";
import { chooseOperators, type RealOperator, shuffle } from "../support/realOperator.ts";
import { RealWorld } from "../support/realWorld.ts";
import {
  computeOperatorRules,
  formatScopedPermission,
  needsPermission,
  type ScopedPermission,
  splitPermissions,
} from "../support/scopedPermissions.ts";
import { describeWithData } from "../support/sharedData.ts";

/** OLMV1_TEST_SEED selects other operators and permissions; OLMV1_TEST_ALL_PERMISSIONS=1 tests every permission of every bundle. */
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 3);
const ALL = process.env["OLMV1_TEST_ALL_PERMISSIONS"] === "1";
const BUNDLES = ALL ? 30 : 15;
/** Number of operators whose permissions are revoked at the same time. */
const AT_ONCE = 6;
/** Interval of comparisons for objects that cannot be watched. */
const DRIFT_MS = 5_000;

describeWithData("real data", (data) =>
  describeWithPrivateCluster("installers of real operators with exactly the derived permissions", (cluster) => {
    let operators: RealOperator[] = [];
    let world: RealWorld;
    let audit: AuditTail;

    beforeAll(async () => {
      operators = await chooseOperators(join(data, "bundles"), SEED, BUNDLES);
      world = await RealWorld.start(cluster, operators, DRIFT_MS);
      audit = new AuditTail(cluster.auditLog);
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
    });

    /** Deletes one object that others do not depend on, and waits until it is restored. */
    async function expectDriftCorrected({ namespace, versions }: RealOperator): Promise<void> {
      const object = versions.at(-1)?.objects.find(({ kind }) => kind === "Deployment" || kind === "ConfigMap" || kind === "Service");
      if (!object) return;
      const ref = { ...toObjectRef(object), namespace };
      const before = await cluster.client.get(ref);
      await cluster.client.delete(ref);
      await eventually(
        async () => {
          const now = await cluster.client.get(ref);
          expect(now?.metadata.uid).toBeDefined();
          expect(now?.metadata.uid).not.toBe(before?.metadata.uid);
        },
        { timeoutMs: 120_000 },
      );
    }

    /** Makes the Pods of an operator fail for a while, so that the controller reads them. */
    async function expectPodReads(operator: RealOperator, permissions: readonly ScopedPermission[]): Promise<void> {
      const onPods = permissions.filter(({ resource }) => resource === "pods");
      await world.setPodOutcome(operator, "CrashLoop");
      await eventually(
        async () => {
          const requests = await audit.requestsOf(operator.namespace, `${operator.name}-installer`);
          expect(onPods.filter((permission) => !requests.some((request) => needsPermission(request, permission)))).toEqual([]);
        },
        { timeoutMs: 120_000 },
      );
      await world.setPodOutcome(operator, "Ready");
    }

    test("the folder of real data contains enough operators", () => {
      expect(operators.filter(({ versions }) => versions.length > 1).length).toBeGreaterThan(3);
      expect(operators.flatMap(({ versions }) => versions).length).toBeGreaterThanOrEqual(BUNDLES);
    });

    test("real operators are installed, corrected, upgraded and uninstalled with exactly the derived permissions, and each permission is used", {
      timeout: 600_000,
    }, async () => {
      const each = (work: (operator: RealOperator) => Promise<void>): Promise<void[]> => Promise.all(operators.map(work));
      const listExpected = (operator: RealOperator): ScopedPermission[] =>
        splitPermissions(computeOperatorRules(operator, operator.versions));
      for (const at of [0, 1]) {
        await each(async (operator) => {
          const { name, versions } = operator;
          const version = versions[at]?.version;
          if (version === undefined) return;
          await world.grant(operator, computeOperatorRules(operator, versions));
          await world.extension(operator, version);
          await world.installed(name, version);
        });
        await world.watching();
      }
      await each(async (operator) => {
        await expectDriftCorrected(operator);
        await expectPodReads(operator, listExpected(operator));
      });
      await each(async ({ name }) => {
        await world.remove(name);
        await world.gone(name);
      });
      for (const operator of operators) {
        const own = await audit.requestsOf(operator.namespace, `${operator.name}-installer`);
        const refused = own.filter(({ code }) => code === 403).map(({ verb, uri }) => `${verb} ${uri}`);
        expect([operator.name, refused]).toEqual([operator.name, []]);
        const granted = own.filter(({ code }) => code < 300);
        const unused = listExpected(operator).filter((permission) => !granted.some((request) => needsPermission(request, permission)));
        expect([operator.name, unused.map(formatScopedPermission)]).toEqual([operator.name, []]);
      }
    });

    test("each revoked permission results in a denied request, and in a problem or a fallback", {
      timeout: ALL ? 7_200_000 : 400_000,
    }, async () => {
      const tried: ScopedPermission[] = [];
      const failures: string[] = [];
      const seeded = operators.map((operator, at) => ({ operator, seed: SEED + at }));
      await mapInParallel(seeded, AT_ONCE, async ({ operator, seed }) => {
        for (const version of ALL ? operator.versions : operator.versions.slice(0, 1)) {
          const trials = new PermissionTrials({ cluster, world, audit }, operator, version);
          const chosen = ALL ? trials.permissions : sample(trials.permissions, seed);
          tried.push(...chosen);
          await trials.run(chosen).catch((err: unknown) => failures.push(`${operator.name} ${version.version}: ${String(err)}`));
        }
      });
      console.log(`${tried.length} permissions of ${operators.length} operators were revoked, one at a time`);
      expect(failures).toEqual([]);
      expect(new Set(tried.map(({ verb }) => verb)).size).toBe(8);
    });
  }),
);

/** Groups of verbs, and the number of permissions to test in each group for one operator. */
const SORTS: readonly (readonly [verbs: readonly string[], count: number])[] = [
  [["get", "patch"], 1],
  [["create", "escalate", "bind"], 2],
  [["list", "watch"], 1],
  [["delete"], 1],
];

/** Selects permissions in turn, so that two operators with successive seeds test different permissions. */
function sample(permissions: readonly ScopedPermission[], seed: number): ScopedPermission[] {
  const mixed = shuffle(permissions, seed);
  return SORTS.filter((_, at) => (at + seed) % 2 === 0).flatMap(([verbs, count]) =>
    mixed.filter(({ verb }) => verbs.includes(verb)).slice(0, count),
  );
}
