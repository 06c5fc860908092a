import { cp } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { expectProblem } from "../support/problems.ts";
import { noSmallDisk, putOnSmallDisk, SmallDisk } from "../support/smallDisk.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { World } from "../support/world.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const TIMEOUT_MS = 240_000;
const LABEL = "a catalogd whose disk is full";

/** One line; its layer is small, so that unpacking it needs little more space than its text. */
function content(number: number, bytes: number): string {
  return `${JSON.stringify({ name: `n${number}`, schema: "test.full", text: "lorem ipsum ".repeat(bytes / 12) })}\n`;
}

const reason = noSmallDisk();
if (reason !== undefined) {
  console.log(`skipped: ${LABEL}: no file system can be mounted for it: ${reason}`);
  test.skip(LABEL, () => undefined);
} else
  describeWithPrivateCluster(LABEL, (cluster) => {
    let folder: TempFolder;
    let world: World;
    let disk: SmallDisk;

    beforeAll(async () => {
      folder = new TempFolder();
      const programs = `${folder.path}/programs`;
      await cp(cluster.programs, programs, { recursive: true });
      putOnSmallDisk(programs);
      world = await World.start(cluster, { programs });
      disk = new SmallDisk(world);
    }, 120_000);
    afterEach(() => disk.clear());
    afterAll(async () => {
      await world?.stop();
      folder[Symbol.dispose]();
    });

    const push = (name: string, tag: string, text: string): Promise<string> =>
      world.pushCatalog(`test/${name}`, tag, new Map([["catalog.json", Buffer.from(text)]]));
    async function all(name: string, headers: Record<string, string> = {}): Promise<{ encoding: string | null; text: string }> {
      const answer = await fetch(`${world.installation.catalogs}/catalogs/${name}/api/v1/all`, { headers });
      return { encoding: answer.headers.get("content-encoding"), text: await answer.text() };
    }

    test.for<[when: string, name: string, bytes: number, free: number, text: RegExp, reported: (catalog: KubeObject) => unknown]>([
      [
        "an image is unpacked",
        "unpacking",
        5 * MIB,
        2 * MIB,
        /^source catalog content: .*ENOSPC|no space left/,
        (catalog) => expectProblem(catalog, "ReconcileFailed"),
      ],
      [
        "a part of a small file is unpacked",
        "unpacking-small",
        60 * KIB,
        24 * KIB,
        /^source catalog content: .*ENOSPC|no space left/,
        (catalog) => expectProblem(catalog, "ReconcileFailed"),
      ],
      [
        "content is stored",
        "storing",
        5 * MIB,
        8 * MIB,
        /^error storing fbc: error walking FBC root: .*ENOSPC: no space left on device/,
        (catalog) => expectProblem(catalog, "StorageFailed", { message: "ENOSPC: no space left on device" }),
      ],
    ])(
      "catalogd reports a full disk when %s, serves the earlier content, leaves no partial files, and resumes when space is available",
      { timeout: TIMEOUT_MS },
      async ([, name, bytes, free, text, reported]) => {
        const [before, after] = [content(1, MIB / 2), content(2, bytes)];
        await world.serve(name, await push(name, "v1", before));
        await eventually(async () => expect((await all(name, { "accept-encoding": "gzip" })).encoding).toBe("gzip"));
        const stored = disk.stored(name);
        disk.leave(free);
        const ref = await push(name, "v2", after);
        await cluster.client.patch(
          { apiVersion: API_VERSION, kind: "ClusterCatalog", name },
          { spec: { source: { image: { ref } } } },
          { type: "merge" },
        );
        const failed = await world.condition("ClusterCatalog", name, (condition) => condition("Progressing")?.reason === "Retrying");
        const { conditions } = failed["status"] as { conditions: { type: string; status: string; message: string }[] };
        expect(conditions.find(({ type }) => type === "Progressing")?.message).toMatch(text);
        expect(conditions.find(({ type }) => type === "Serving")?.status).toBe("True");
        reported(failed);
        expect((await all(name)).text).toBe(before);
        expect(disk.stored(name).filter((entry) => !entry.startsWith(".staging"))).toEqual(stored);
        disk.clear();
        await world.condition("ClusterCatalog", name, (condition) => condition("Progressing")?.reason === "Succeeded", 120_000);
        expect((await all(name)).text).toBe(after);
        await eventually(() => expect(disk.stored(name)).toHaveLength(2)); // the new content and the link to it
        await eventually(async () => expect((await all(name, { "accept-encoding": "gzip" })).encoding).toBe("gzip"));
        await world.removed("ClusterCatalog", name);
      },
    );
  });
