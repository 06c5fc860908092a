import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { EventLoopProbe } from "../support/eventLoopProbe.ts";
import { World } from "../support/world.ts";

const MIB = 1024 * 1024;
const GOAL_MS = 100;
/** After a minute without a response the kubelet would restart it; a loop over any of these catalogs blocks for longer. */
const LIMIT_MS = 10_000;
const HEAD = "schema: a\nname: b\nx: ";
const BOMB = Array.from({ length: 25 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(10)}]`).join("\n");

/** Malicious catalogs: the file's content, and the expected message. */
const HOSTILE: readonly [name: string, content: () => string, message: string][] = [
  ["alias-bomb", () => `${HEAD}1\na0: &a0 [lol]\n${BOMB}`, "document 1, line 1: document contains excessive aliasing"],
  ["nesting-json", () => `{"schema":"a","x":${"[".repeat(1_000_000)}`, "document 1, line 1: nested deeper than 1000"],
  ["nesting-flow", () => HEAD + "{a: ".repeat(1_000_000), "document 1, line 3: nested deeper than 1000"],
  ["nesting-block", () => `${HEAD}\n${"- ".repeat(1_000_000)}`, "document 1, line 4: nested deeper than 1000"],
  ["scalar", () => HEAD + "x".repeat(100 * MIB), `document 1, line 1: document too large: more than ${64 * MIB} bytes`],
  ["values", () => `{"schema":"a","x":[${"[],".repeat(20 * MIB)}1]}`, "document 1, line 1: object too large: more than 2000000 values"],
  ["lines", () => `schema: a\nx:\n${"- 1\n".repeat(15 * MIB)}`, "document 1, line 1: more than 2000000 values in one document"],
  ["self", () => `${HEAD}&a [*a]`, "document 1, line 1: anchor 'a' value contains itself"],
];
/** A text that takes extremely long to match with naive regular expressions. */
const IGNORE = `${"*a".repeat(60)}b\n${"**/a/".repeat(60)}b\n`;

describeWithPrivateCluster("catalogd and malicious catalogs", (cluster) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(cluster);
  });
  afterAll(() => world?.stop());

  const bytes = (files: Record<string, string>): Map<string, Uint8Array> =>
    new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
  async function apply(name: string): Promise<void> {
    const source = { type: "Image", image: { ref: `quay.io/test/${name}:v1` } };
    await world.apply({ apiVersion: API_VERSION, kind: "ClusterCatalog", metadata: { name }, spec: { source } });
  }

  test("catalogd reports the problem of each malicious catalog in a condition, and still serves other catalogs", async () => {
    for (const [name, content] of HOSTILE) await world.pushCatalog(`test/${name}`, "v1", bytes({ "catalog.yaml": content() }));
    const names = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${"a".repeat(200)}${i}`, "schema: a\n"]));
    await world.pushCatalog("test/patterns", "v1", bytes({ ...names, ".indexignore": IGNORE }));
    await world.pushCatalog("test/good", "v1", bytes({ "package.yaml": "schema: olm.package\nname: foo\n" }));

    const probe = new EventLoopProbe(world.installation.probes.catalogd, world.installation.servers.catalogd.pid);
    const began = performance.now();
    await Promise.all([...HOSTILE.map(([name]) => name), "patterns", "good"].map(apply));
    await Promise.all([
      ...HOSTILE.map(([name, , message]) =>
        world.condition(
          "ClusterCatalog",
          name,
          (c) => {
            const { reason, message: text = "" } = c("Progressing") ?? {};
            return (
              reason === "Retrying" && text.includes(`error storing fbc: error walking FBC root: catalog.yaml: ${message}`) && !c("Serving")
            );
          },
          300_000,
        ),
      ),
      ...["patterns", "good"].map((name) => world.condition("ClusterCatalog", name, (c) => c("Serving")?.status === "True", 300_000)),
    ]);
    const took = performance.now() - began;
    const { answers, slowestMs, delayMs, ownMs } = await probe.stop();
    process.stdout.write(
      `${HOSTILE.length} hostile catalogs in ${(took / 1_000).toFixed(1)} s: ${answers} answers of /healthz, the slowest after ${slowestMs.toFixed(0)} ms; ` +
        `longest delay of the event loop ${delayMs.toFixed(0)} ms (goal ${GOAL_MS} ms), ` +
        `the most that waiting for a processor does not explain ${ownMs.toFixed(0)} ms\n`,
    );
    expect(answers).toBeGreaterThan(0);
    expect(ownMs).toBeLessThan(LIMIT_MS);
    expect(await (await fetch(`${world.installation.catalogs}/catalogs/good/api/v1/all`)).text()).toBe(
      '{"name":"foo","schema":"olm.package"}\n',
    );
    expect(world.unexpectedEnds).toEqual([]);
  });
});
