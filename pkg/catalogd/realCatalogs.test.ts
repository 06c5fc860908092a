import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithData } from "../../test/support/sharedData.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { groupByPackage } from "../fbc/content.ts";
import { decodeMetas } from "../fbc/decode.ts";
import type { Meta } from "../fbc/types.ts";
import { createLogger } from "../telemetry/log.ts";
import { CatalogStore } from "./catalogStore.ts";

/** The numbers that opm reports for a catalog. */
interface LoadCase {
  fbc: string;
  expect: { packages: number; channels: number; bundles: number; deprecations: number; others: number };
}

/**
 * SHA-256 of the output of k8s.io/apimachinery v0.36.3's decoder and encoding/json for the catalog,
 * files in lexical order.
 */
const GO_LINES: Readonly<Record<string, string>> = {
  "fbc/certified-v4.14": "cf30066ff0f05f0dd940f22ecb42b3a0f9159d875a565dd39bcec7bae2e4ed8f",
  "fbc/community-v4.19": "1c690afaf0cd94037eb350461fc9b78f6b81ec008be3b0ab1d1cb664e1a7c9de",
  "fbc/gatekeeper-4-14": "91d7294823d41f16f62f5f8726d8f01dee2ca93e229a1d173c68126f1fbf04b1",
  "fbc/kueue-v5.0": "63ca046d60bb54ac0f30105c10b519472e30cfa32c17401e14707542ea70db5d",
  "fbc/rhtas-v4.18": "5894adc37db5aa1c201989922ab9d7d87a97540888b9f99725bba839a1ea7942",
};

describeWithData("real catalogs", (data) => {
  const cases = readFileSync(join(data, "fbc-load/cases.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LoadCase);

  test.for(cases)(
    "store reads as many objects from $fbc as opm, and writes the same bytes as the Go implementation",
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
      console.log(
        `${fbc}: ${(content.catalog.index.bytes / 1e6).toFixed(1)} MB, ${content.catalog.index.lines} objects stored in ${seconds.toFixed(2)} s`,
      );
      const metas: Meta[] = [];
      const hash = createHash("sha256");
      const current = join(folder.path, "catalogs/test/current/catalog.jsonl");
      for await (const chunk of createReadStream(current) as AsyncIterable<Buffer>) hash.update(chunk);
      if (GO_LINES[fbc]) expect(hash.digest("hex")).toBe(GO_LINES[fbc]);
      for await (const meta of decodeMetas(createReadStream(current), fbc)) metas.push(meta);
      expect(metas).toHaveLength(content.catalog.index.lines);
      const contents = [...groupByPackage(metas).values()];
      const sum = (count: (c: (typeof contents)[number]) => number): number => contents.reduce((total, one) => total + count(one), 0);
      expect({
        packages: sum((c) => (c.package ? 1 : 0)),
        channels: sum((c) => c.channels.length),
        bundles: sum((c) => c.bundles.length),
        deprecations: sum((c) => c.deprecations.length),
        others: sum((c) => c.others),
      }).toEqual(want);
      const bundles = content.catalog.select({ schema: "olm.bundle" });
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
