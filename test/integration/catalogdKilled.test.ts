import { truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ContentWatch, type LinesOf } from "../support/contentWatch.ts";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/random.ts";
import { World } from "../support/world.ts";

/** The duration of ten starts of a program. */
const TIMEOUT_MS = 600_000;
const KILLS = 10;
const CONTENTS = 4;
const LINES = 200;
const NAME = "killed";
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 1);

/** A few megabytes, so that reading and compressing them takes some time. */
function content(number: number): LinesOf {
  const random = createRandom(number);
  const lines = Array.from({ length: LINES }, (_, i) => {
    const text = Array.from({ length: 1_500 }, () => random().toString(36).slice(2)).join(" ");
    return { package: `p${i % 2}`, line: `${JSON.stringify({ name: `n${i}`, package: `p${i % 2}`, schema: "test.kill", text })}\n` };
  });
  return (packageName) =>
    lines.flatMap(({ package: own, line }) => (packageName === undefined || own === packageName ? [line] : [])).join("");
}

describeWithPrivateCluster("catalogd killed while it unpacks, stores and compresses", (cluster) => {
  const contents = Array.from({ length: CONTENTS }, (_, i) => content(i));
  const refs: string[] = [];
  let world: World;
  let watch: ContentWatch;

  beforeAll(async () => {
    world = await World.start(cluster);
    for (const [i, linesOf] of contents.entries())
      refs.push(await world.pushCatalog("test/killed", `v${i}`, new Map([["catalog.json", Buffer.from(linesOf(undefined))]])));
  });
  afterAll(async () => {
    await watch?.stop();
    await world?.stop();
  });

  const want = (number: number): Promise<unknown> =>
    cluster.client.patch(
      { apiVersion: API_VERSION, kind: "ClusterCatalog", name: NAME },
      { spec: { source: { image: { ref: refs[number] } } } },
      { type: "merge" },
    );

  async function readServed(number: number): Promise<number> {
    const started = performance.now();
    await want(number);
    await eventually(async () => expect(await watch.current()).toBe(number), { intervalMs: 10 });
    return performance.now() - started;
  }

  async function kill(): Promise<void> {
    const server = world.installation.servers.catalogd;
    process.kill(server.pid ?? 0, "SIGKILL");
    await eventually(() => expect(server.ended).toBeDefined(), { intervalMs: 10 });
    world.unexpectedEnds.pop();
    await world.installation.restart("catalogd");
  }

  test(`catalogd killed at ${KILLS} moments (seed ${SEED}) never mixes old and new content in a response, and serves the latest content in the end`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    await world.serve(NAME, refs[0] ?? "");
    watch = new ContentWatch(`${world.installation.catalogs}/catalogs/${NAME}`, contents);
    const takes = await readServed(1);
    const random = createRandom(SEED);
    let last = 1;
    for (let i = 0; i < KILLS; i++) {
      last = (last + 1 + Math.floor(random() * (CONTENTS - 1))) % CONTENTS;
      await want(last);
      await sleep(random() * takes * 1.5); // from before the pull until the compression
      await kill();
      await eventually(() => watch.current());
    }
    await world.condition("ClusterCatalog", NAME, (condition, { status }) => {
      const { resolvedSource } = status as { resolvedSource?: { image: { ref: string } } };
      return resolvedSource?.image.ref === refs[last] && condition("Progressing")?.reason === "Succeeded";
    });
    expect(await watch.current()).toBe(last);
    const before = watch.seen.get(last) ?? 0;
    await eventually(() => expect(watch.seen.get(last) ?? 0).toBeGreaterThan(before + 20));
    await watch.stop();
    expect(watch.wrong).toEqual([]);
    expect(watch.seen.size).toBeGreaterThan(1);
  });

  test("catalogd pulls a catalog again when its stored content is damaged", { timeout: TIMEOUT_MS }, async () => {
    const before = await watch.current();
    truncateSync(join(world.workDir, "catalogd/catalogs", NAME, "current/catalog.jsonl"), 1_000);
    await expect(watch.current()).rejects.toThrow();
    await eventually(async () => expect(await watch.current()).toBe(before));
    const metrics = await (await fetch(`${world.installation.probes.catalogd}/metrics`)).text();
    expect(metrics).toContain(`catalogd_catalog_content_lost_total{catalog="${NAME}"} 1`);
    await world.condition("ClusterCatalog", NAME, (condition) => condition("Progressing")?.reason === "Succeeded");
  });
});
