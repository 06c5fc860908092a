import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleFiles, compareRender, type RenderCase, rendered } from "../../test/cases/topics/render.ts";
import { describeWithData } from "../../test/support/sharedData.ts";

const MAX_SHOWN = 10;

// Source: what the Go operator-controller rendered for these bundles.
describeWithData("real bundles are rendered as operator-controller renders them", (folder) => {
  const operators = readdirSync(join(folder, "render")).sort();
  const groups = Map.groupBy(operators, (operator) => operator[0] ?? "");
  test.for([...groups])("%s…", { timeout: 120_000 }, ([, names]) => {
    const differing: string[] = [];
    for (const operator of names) {
      for (const file of readdirSync(join(folder, "render", operator))) {
        const expected = JSON.parse(readFileSync(join(folder, "render", operator, file), "utf8")) as RenderCase;
        const lines = compareRender(expected, rendered(expected, bundleFiles(join(folder, expected.bundle))));
        if (lines.length > 0) differing.push(`${operator}/${file}: ${lines.join("\n  ")}`);
      }
    }
    expect(differing.slice(0, MAX_SHOWN)).toEqual([]);
  });
});
