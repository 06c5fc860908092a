import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, LABEL_OWNER_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../../pkg/api/k8s.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { SampleWorld } from "../support/sampleWorld.ts";
import type { World } from "../support/world.ts";

/** Long enough for nothing to be found by it: what these tests see repaired was seen by watches. */
const DRIFT_INTERVAL = "1h";

describeWithPrivateCluster("drift", (cluster) => {
  let sample: SampleWorld;
  let world: World;

  beforeAll(async () => {
    sample = await SampleWorld.start(cluster, DRIFT_INTERVAL);
    world = sample.world;
  });
  afterEach(() => sample.clear());
  afterAll(async () => {
    await world?.stop();
  });

  /** What is on the cluster of an extension's version 1.0.0, by its kind. */
  async function installedObjects(made: ClusterExtension): Promise<KubeObject[]> {
    const objects = await Promise.all(sample.rendered("1.0.0", made.spec.namespace).map((object) => cluster.client.get(refOf(object))));
    return objects.flatMap((object) => object ?? []);
  }

  /** Waits until `holds`, looking often. @returns milliseconds. */
  async function repaired(ref: ObjectRef, holds: (object: KubeObject | undefined) => void): Promise<number> {
    const started = performance.now();
    await eventually(async () => holds(await cluster.client.get(ref)), { intervalMs: 20, timeoutMs: 60_000 });
    return performance.now() - started;
  }

  const print = (times: readonly (readonly [string, number])[]): void =>
    void process.stderr.write(times.map(([what, ms]) => `${what}: repaired in ${Math.round(ms)} ms\n`).join(""));

  test("with rights by name only, an object of any kind is put back when it is deleted or changed, status aside", async () => {
    const made = await sample.installed("kinds", "1.0.0");
    const objects = await installedObjects(made);
    expect(objects.map(describeObject).sort()).toEqual(sample.wanted("1.0.0", made));
    const times: [string, number][] = [];
    for (const object of objects) {
      const ref = refOf(object);
      await cluster.client.patch(ref, { metadata: { labels: { [LABEL_OWNER_NAME]: "somebody" } } }, { type: "merge" });
      const changed = await repaired(ref, (live) => expect(live?.metadata.labels?.[LABEL_OWNER_NAME]).toBe("kinds"));
      times.push([`${ref.kind} changed`, changed]);
    }
    for (const object of objects) {
      const ref = refOf(object);
      await cluster.client.delete(ref);
      const deleted = await repaired(ref, (live) => {
        expect(live).toBeDefined();
        expect(live?.metadata.uid).not.toBe(object.metadata.uid);
      });
      times.push([`${ref.kind} deleted`, deleted]);
    }
    print(times);
    expect(await sample.releases("kinds")).toEqual(["v1 deployed"]);
  });
});

export { API_VERSION, CLUSTER_EXTENSION };
