import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GOLDEN_FOLDER, goldenText } from "./golden.ts";
import { GOLDEN_ROWS } from "./rows.ts";

test.for(GOLDEN_ROWS)("$name is rendered as it was: npm run -s goldens writes it anew, git diff shows what users will get", async (row) => {
  expect(await goldenText(row)).toBe(readFileSync(join(GOLDEN_FOLDER, `${row.name}.yaml`), "utf8"));
});

test("every file has its row", () => {
  expect(readdirSync(GOLDEN_FOLDER).sort()).toEqual(GOLDEN_ROWS.map(({ name }) => `${name}.yaml`).sort());
});
