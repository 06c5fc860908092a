import { createReadStream, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import { CATALOG_LINTS, CatalogLint, type LintFinding } from "./catalogLint.ts";
import { DocumentLines } from "./documentLines.ts";

describeWithData("real catalogs", (data) => {
  test("CatalogLint reports few warnings for real catalogs", async () => {
    const { findings, bundles } = await lintsOf(join(data, "fbc/community-v4.19"));
    expect(bundles).toBeGreaterThan(500);
    const counts = Map.groupBy(findings, ({ rule }) => rule);
    for (const [rule, found] of counts)
      if (CATALOG_LINTS[rule]?.severity === "warning") expect(found.length, rule).toBeLessThan(bundles / 100);
    for (const { message, subject } of findings) expect([message.length < 1_000, subject.place.line]).toEqual([true, expect.any(Number)]);
  });

  test("CatalogLint reports the field that breaks a lint rule", async () => {
    const folder = join(data, "fbc/community-v4.19");
    const { findings } = await lintsOf(folder);
    const [one] = findings.filter(({ rule }) => rule === "replaces-higher");
    const text = readFileSync(join(folder, one?.subject.place.file ?? ""), "utf8");
    const line = new DocumentLines(text).lineOf(one?.subject.place.line ?? 0, one?.path ?? []);
    expect(text.split("\n")[line - 1]).toMatch(/replaces/);
  });
});

async function lintsOf(folder: string): Promise<{ findings: LintFinding[]; bundles: number }> {
  const lint = new CatalogLint();
  let bundles = 0;
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.(ya?ml|json)$/.test(name))) {
    for await (const meta of decodeMetas(createReadStream(join(folder, path)) as AsyncIterable<Uint8Array>, path)) {
      lint.add(meta);
      if (meta.schema === "olm.bundle") bundles++;
    }
  }
  return { findings: lint.findings(), bundles };
}
