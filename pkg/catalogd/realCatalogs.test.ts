import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/contentFixture.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import { packageContentsFrom } from "../fbc/content.ts";
import { decodeMetas } from "../fbc/decode.ts";
import type { Meta } from "../fbc/types.ts";
import { createLogger } from "../telemetry/log.ts";
import { CatalogStore } from "./store.ts";

/** What opm counts in a catalog. */
interface LoadCase {
  fbc: string;
  expect: { packages: number; channels: number; bundles: number; deprecations: number; others: number };
}

describeWithData("real catalogs", (data) => {
  const cases = readFileSync(join(data, "fbc-load/cases.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LoadCase);

  test.for(cases)(
    "$fbc holds what opm counts, and is served line by line as it is",
    { timeout: 120_000 },
    async ({ fbc, expect: want }) => {
      using folder = new TempFolder();
      const root = unpacked(data, fbc, folder);
      const store = await CatalogStore.open({
        dir: join(folder.path, "catalogs"),
        log: createLogger({ component: "test", level: "silent" }),
      });
      const started = performance.now();
      const content = await store.store(
        "test",
        root,
        { ref: "r/c@sha256:1", digest: "sha256:1", lastUnpacked: "2026-01-01T00:00:00Z" },
        new AbortController().signal,
      );
      const seconds = (performance.now() - started) / 1_000;
      console.log(`${fbc}: ${(content.index.bytes / 1e6).toFixed(1)} MB, ${content.index.lines} objects stored in ${seconds.toFixed(2)} s`);
      const metas: Meta[] = [];
      const current = join(folder.path, "catalogs/test/current/catalog.jsonl");
      for await (const meta of decodeMetas(createReadStream(current), fbc)) metas.push(meta);
      expect(metas).toHaveLength(content.index.lines);
      const contents = [...packageContentsFrom(metas).values()];
      const sum = (count: (c: (typeof contents)[number]) => number): number => contents.reduce((total, one) => total + count(one), 0);
      expect({
        packages: sum((c) => (c.package ? 1 : 0)),
        channels: sum((c) => c.channels.length),
        bundles: sum((c) => c.bundles.length),
        deprecations: sum((c) => c.deprecations.length),
        others: sum((c) => c.others),
      }).toEqual(want);
      const bundles = content.select({ schema: "olm.bundle" });
      expect(bundles.bytes).toBeGreaterThan(0);
      await store.close();
    },
  );
});

function unpacked(data: string, fbc: string, folder: TempFolder): string {
  const archive = join(data, `${fbc}.tar.gz`);
  if (!existsSync(archive)) return join(data, fbc);
  execFileSync("tar", ["-xzf", archive, "-C", folder.path]);
  return join(folder.path, fbc.split("/").at(-1) ?? "");
}
