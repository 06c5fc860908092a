import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { EventLoopProbe } from "../support/eventLoopProbe.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { SmallPackage } from "../support/smallPackage.ts";
import { World } from "../support/world.ts";

const GOAL_MS = 100;
/** After a minute without a response the kubelet restarts the process; loading any of these bundles in the main thread blocks it for longer. */
const LIMIT_MS = 10_000;
const HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n";
const ALIASES = [1, 2, 3, 4, 5, 6, 7].map((level) => `l${level}: &l${level} [${`*l${level - 1},`.repeat(10)}]`).join("\n");
const VERSION = { version: "1.0.0" };

/** Malicious bundles: the manifests in addition to the usual ones, and the expected text of condition Progressing. */
const HOSTILE: readonly [name: string, manifests: () => Record<string, string>, reason: string, message: string][] = [
  [
    "maps",
    () => ({ "z.yaml": `${HEAD}l: [${"{},".repeat(2_000_000)}]\n` }),
    "Blocked",
    'bundle is too large: file "manifests/z.yaml" contains 4000006 lines, list items and members, more than the 500000 allowed in one file',
  ],
  [
    "many-files",
    () => Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`z${i}.yaml`, `${HEAD}l: [${"{},".repeat(200_000)}]\n`])),
    "Blocked",
    "lines, list items and members in the files up to ",
  ],
  [
    "numbers",
    () => Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`z${i}.yaml`, `${HEAD}l: [${"1,".repeat(200_000)}]\n`])),
    "Blocked",
    "more than the 750000 allowed",
  ],
  ["aliases", () => ({ "z.yaml": `${HEAD}l0: &l0 1\n${ALIASES}\n` }), "Retrying", "document contains excessive aliasing"],
  [
    "large-object",
    () => ({ "z.yaml": `${HEAD}data: {a: "${"x".repeat(4 * 1024 * 1024)}"}\n` }),
    "Blocked",
    "bundle is too large: its ConfigMap NAME is 4194",
  ],
];

/** A bundle that is loaded in a worker thread and installs: 20 ConfigMaps of 1,000 keys. */
const LARGE = Array.from({ length: 20 }, (_, i) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `c${i}` },
  data: Object.fromEntries(Array.from({ length: 1_000 }, (__, key) => [`k${key}`, "x"])),
}));

describeWithPrivateCluster("operator-controller and malicious bundles", (cluster) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(cluster);
  });
  afterAll(() => world?.stop());

  test("operator-controller reports the exceeded limit and the file of each malicious bundle in a condition, and still installs another extension", async () => {
    const [good, large] = [new SmallPackage("good", VERSION), new SmallPackage("large", VERSION)];
    const packages = [...HOSTILE.map(([name]) => new SmallPackage(name, VERSION)), good, large];
    const metas: object[] = [];
    for (const one of packages) {
      const files = one.bundleFiles(VERSION);
      const [, manifests] = HOSTILE.find(([name]) => name === one.name) ?? [];
      for (const [path, text] of Object.entries(manifests?.() ?? {})) files.set(`manifests/${path}`, Buffer.from(text));
      const others = one === large ? LARGE : [];
      for (const object of others) files.set(`manifests/${object.metadata.name}.yaml`, Buffer.from(JSON.stringify(object)));
      const ref = await world.pushBundle(`test/${one.name}`, "v1", one.name, files);
      metas.push(...one.catalogMetas(() => ref));
      const namespace = getNamespace(one.extension());
      await grantInstaller(cluster.client, one.extension(), [
        ...one.objects(namespace),
        ...others.map((object) => ({ ...object, metadata: { ...object.metadata, namespace } })),
      ]);
    }
    const catalog = await world.pushCatalog(
      "test/catalog",
      "v1",
      new Map([["catalog.json", Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"))]]),
    );
    await world.serve("catalog", catalog);

    const probe = new EventLoopProbe(
      world.installation.probes["operator-controller"],
      world.installation.servers["operator-controller"].pid,
    );
    const began = performance.now();
    for (const one of packages) await world.apply(one.extension());
    await Promise.all([
      world.installed("good", "1.0.0"),
      world.installed("large", "1.0.0"),
      ...HOSTILE.map(([name, , reason, message]) =>
        world.condition(
          "ClusterExtension",
          name,
          (c) => c("Progressing")?.reason === reason && (c("Progressing")?.message ?? "").includes(message),
          240_000,
        ),
      ),
    ]);
    const took = performance.now() - began;
    const { answers, slowestMs, delayMs, ownMs } = await probe.stop();
    process.stdout.write(
      `${HOSTILE.length} hostile bundles in ${(took / 1_000).toFixed(1)} s: ${answers} answers of /healthz, the slowest after ${slowestMs.toFixed(0)} ms; ` +
        `longest delay of the event loop ${delayMs.toFixed(0)} ms (goal ${GOAL_MS} ms), ` +
        `the most that waiting for a processor does not explain ${ownMs.toFixed(0)} ms\n`,
    );
    expect(answers).toBeGreaterThan(0);
    expect(ownMs).toBeLessThan(LIMIT_MS);
    expect((await fetch(`${world.installation.probes["operator-controller"]}/readyz`)).status).toBe(200);
    expect(world.unexpectedEnds).toEqual([]);
  });
});
