import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { refOf } from "../../pkg/api/k8s.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { chooseOperators, type RealOperator, shuffled } from "../support/realOperator.ts";
import { RealWorld } from "../support/realWorld.ts";
import { asksFor, describeRight, type Right, rightsOf, rulesOf } from "../support/rights.ts";
import { RightTrials } from "../support/rightTrials.ts";
import { describeWithData } from "../support/sharedData.ts";

/** Another choice of operators and rights is tried with OLMV1_TEST_SEED; with OLMV1_TEST_ALL_RIGHTS=1 every right of every bundle is. */
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 7);
const ALL = process.env["OLMV1_TEST_ALL_RIGHTS"] === "1";
const BUNDLES = 30;
/** Operators whose rights are taken away at the same time. */
const AT_ONCE = 6;
/** Objects that cannot be watched are compared this often. */
const DRIFT_MS = 5_000;

describeWithData("real data", (data) =>
  describeWithPrivateCluster("installers of real operators with exactly the rights that are derived for them", (cluster) => {
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

    /** Deletes one object that others do not depend on, and waits until it is back. */
    async function driftIsRepaired({ namespace, versions }: RealOperator): Promise<void> {
      const object = versions.at(-1)?.objects.find(({ kind }) => kind === "Deployment" || kind === "ConfigMap" || kind === "Service");
      if (!object) return;
      const ref = { ...refOf(object), namespace };
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

    /** Makes the Pods of an operator fail for a while, so that somebody looks at them. */
    async function podsAreLookedAt(operator: RealOperator, rights: readonly Right[]): Promise<void> {
      const onPods = rights.filter(({ resource }) => resource === "pods");
      await world.podFate(operator, "CrashLoop");
      await eventually(
        async () => {
          const requests = await audit.requestsOf(operator.namespace, `${operator.name}-installer`);
          expect(onPods.filter((right) => !requests.some((request) => asksFor(request, right)))).toEqual([]);
        },
        { timeoutMs: 120_000 },
      );
      await world.podFate(operator, "Ready");
    }

    test("there are enough of them", () => {
      expect(operators.filter(({ versions }) => versions.length > 1).length).toBeGreaterThan(3);
      expect(operators.flatMap(({ versions }) => versions).length).toBeGreaterThanOrEqual(BUNDLES);
    });

    test("install, repair, upgrade and uninstall without a refusal, and need every one of them", { timeout: 600_000 }, async () => {
      const each = (work: (operator: RealOperator) => Promise<void>): Promise<void[]> => Promise.all(operators.map(work));
      const wanted = (operator: RealOperator): Right[] => rightsOf(rulesOf(operator, operator.versions));
      for (const at of [0, 1]) {
        await each(async (operator) => {
          const { name, versions } = operator;
          const version = versions[at]?.version;
          if (version === undefined) return;
          await world.grant(operator, rulesOf(operator, versions));
          await world.extension(operator, version);
          await world.installed(name, version);
        });
        await world.watching();
      }
      await each(async (operator) => {
        await driftIsRepaired(operator);
        await podsAreLookedAt(operator, wanted(operator));
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
        const unused = wanted(operator).filter((right) => !granted.some((request) => asksFor(request, right)));
        expect([operator.name, unused.map(describeRight)]).toEqual([operator.name, []]);
      }
    });

    test("without any one of them a request is refused, and it is told or gone without", {
      timeout: ALL ? 7_200_000 : 400_000,
    }, async () => {
      const queue = operators.flatMap((operator) =>
        (ALL ? operator.versions : operator.versions.slice(0, 1)).map((version) => ({ operator, version })),
      );
      const tried: Right[] = [];
      const failures: string[] = [];
      const busy = new Set<string>();
      const worker = async (): Promise<void> => {
        for (
          let at = queue.findIndex(({ operator }) => !busy.has(operator.name));
          at >= 0;
          at = queue.findIndex(({ operator }) => !busy.has(operator.name))
        ) {
          const [next] = queue.splice(at, 1);
          if (!next) return;
          busy.add(next.operator.name);
          const trials = new RightTrials({ cluster, world, audit }, next.operator, next.version);
          const chosen = ALL ? trials.rights : sample(trials.rights, tried.length);
          tried.push(...chosen);
          await trials.run(chosen).catch((err: unknown) => failures.push(`${next.operator.name} ${next.version.version}: ${String(err)}`));
          busy.delete(next.operator.name);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      console.log(`${tried.length} rights of ${operators.length} operators were taken away, one at a time`);
      expect(failures).toEqual([]);
      expect(new Set(tried.map(({ verb }) => verb)).size).toBe(8);
    });
  }),
);

/** Rights of which each has consequences of another sort. */
const SORTS: readonly (readonly string[])[] = [["get", "patch"], ["create", "escalate", "bind"], ["list", "watch"], ["delete"]];

/** One right of each sort. */
function sample(rights: readonly Right[], at: number): Right[] {
  const mixed = shuffled(rights, SEED + at);
  return SORTS.flatMap((verbs) => mixed.find(({ verb }) => verbs.includes(verb)) ?? []);
}
