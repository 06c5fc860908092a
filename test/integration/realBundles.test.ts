import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { listCertificateSecrets } from "../../pkg/certificates/desiredCertificates.ts";
import { certManager, selfSigned } from "../../pkg/certificates/providers.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { describeObject, getObjectKey } from "../../pkg/release/identity.ts";
import { type CaseHead, loadCases } from "../support/caseFiles.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { lostMembers } from "../support/lostMembers.ts";
import { bundleIds, type RealBundle, realBundle, standIns } from "../support/realBundle.ts";
import { shuffle } from "../support/realOperator.ts";
import { RealWorld } from "../support/realWorld.ts";
import { describeWithData } from "../support/sharedData.ts";

/** OLMV1_TEST_SEED selects other bundles, OLMV1_TEST_ALL_BUNDLES=1 all of them. */
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 7);
const CHOSEN = process.env["OLMV1_TEST_ALL_BUNDLES"] === "1" ? Number.POSITIVE_INFINITY : 40;
const AT_ONCE = 6;
/** With an odd seed the controller provides the certificates of webhooks; with an even one cert-manager would. */
const PROVIDER = SEED % 2 === 0 ? certManager : selfSigned;

/** A bundle that cannot be installed; `name` is its folder, `source` the origin of the error. */
interface Refusal extends CaseHead {
  /** A part of the expected message of condition Progressing. */
  says: string;
}

const REFUSALS = new Map(loadCases<Refusal>("real-bundles").map((refusal) => [refusal.name, refusal]));

describeWithData("real data", (data) =>
  describeWithPrivateCluster("real bundles with exactly the derived permissions", (cluster) => {
    const folder = join(data, "bundles");
    const ids = bundleIds(folder);
    const bundles: RealBundle[] = [];
    let world: RealWorld;

    beforeAll(async () => {
      for (const id of shuffle(ids, SEED).slice(0, CHOSEN)) bundles.push(await realBundle(folder, id, PROVIDER));
      for (const crd of standIns(bundles.flatMap(({ objects }) => objects))) await cluster.client.apply(crd, { fieldManager: "test" });
      world = await RealWorld.start(
        cluster,
        bundles.map(({ operator }) => operator),
      );
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
    });

    test("the test data contains every bundle whose rejection is expected", () => {
      expect([...REFUSALS.keys()].filter((name) => !ids.includes(name))).toEqual([]);
    });

    test("real bundles are installed completely and uninstalled without remaining objects, or rejected with the known error", {
      timeout: 3_600_000,
    }, async () => {
      const unexpected: string[] = [];
      const refused: string[] = [];
      await eachApart(bundles, async (bundle) => {
        const tell = (texts: readonly string[]): unknown => unexpected.push(...texts.map((text) => `${bundle.id}: ${text}`));
        const refusal = REFUSALS.get(bundle.id)?.says;
        try {
          const outcome = await install(bundle, refusal);
          if (outcome === "refused") refused.push(bundle.id);
          if (outcome === "installed" && refusal !== undefined) tell(["it is known to be refused, but is not"]);
          if (outcome === "installed") tell(await lacking(bundle));
        } catch (err) {
          tell([(err as Error).message]);
        }
        try {
          tell((await remove(bundle)).map((text) => `${text} is still there`));
        } catch (err) {
          tell([(err as Error).message]);
        }
      });
      const failed = new Set(unexpected.map((text) => text.split(":")[0]));
      console.log(
        `${bundles.length} of ${ids.length} bundles: ${bundles.length - refused.length - failed.size} installed, ${refused.length} refused`,
      );
      expect(unexpected).toEqual([]);
      expect(refused.length).toBeLessThan(bundles.length / 2);
    });

    async function install({ operator, objects }: RealBundle, refusal: string | undefined): Promise<"installed" | "refused"> {
      const [{ version } = { version: "" }] = operator.versions;
      await world.grant(operator, computeRequiredRules(objects, { installNamespace: operator.namespace }));
      await world.extension(operator, version);
      return world.outcome(operator.name, version, refusal);
    }

    /** Returns the members of the bundle that the cluster lacks. */
    async function lacking({ operator, objects }: RealBundle): Promise<string[]> {
      const found = objects.map(async (object) => {
        const live = await cluster.client.get(toObjectRef(addNamespace(object, operator.namespace)));
        if (!live) return [`${describeObject(object)} does not exist`];
        return lostMembers(normalize(addNamespace(object, operator.namespace)), live).map(
          (member) => `${describeObject(object)} has no ${member}`,
        );
      });
      return (await Promise.all(found)).flat();
    }

    /** @returns the objects that are left. */
    async function remove({ operator, objects }: RealBundle): Promise<string[]> {
      await world.remove(operator.name);
      await world.gone(operator.name);
      const left = [...objects, ...listCertificateSecrets(objects)].map(async (object) => {
        const resource = await cluster.client.resourceFor(object).catch(() => undefined);
        return resource && (await cluster.client.get(toObjectRef(addNamespace(object, operator.namespace))));
      });
      return (await Promise.all(left)).flatMap((object) => (object ? [describeObject(object)] : []));
    }
  }),
);

/** Sets the install namespace, if the object has one. */
function addNamespace(object: KubeObject, installNamespace: string): KubeObject {
  const { namespace = installNamespace, ...metadata } = object.metadata;
  return { ...object, metadata: findKnownResource(object)?.namespaced ? { ...metadata, namespace } : metadata };
}

/** Removes members that an API server does not accept or stores elsewhere. */
function normalize(object: KubeObject): KubeObject {
  return { ...object, status: undefined, stringData: undefined };
}

/** Processes several bundles concurrently, but never two that contain the same object. Processes bundles that block others one by one. */
async function eachApart(bundles: readonly RealBundle[], work: (bundle: RealBundle) => Promise<void>): Promise<void> {
  const left = bundles.filter((bundle) => !bundle.disturbsOthers);
  const taken = new Set<string>();
  const worker = async (): Promise<void> => {
    while (left.length > 0) {
      const at = left.findIndex(({ objects }) => !objects.some((object) => taken.has(getObjectKey(object))));
      const [next] = at < 0 ? [] : left.splice(at, 1);
      if (!next) {
        await sleep(100);
        continue;
      }
      const keys = next.objects.map(getObjectKey);
      for (const key of keys) taken.add(key);
      await work(next);
      for (const key of keys) taken.delete(key);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const bundle of bundles.filter(({ disturbsOthers }) => disturbsOthers)) await work(bundle);
}
