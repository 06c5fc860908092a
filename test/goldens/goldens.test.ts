import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GOLDEN_FOLDER, goldenText } from "./golden.ts";
import { GOLDEN_ROWS } from "./rows.ts";

test.for(GOLDEN_ROWS)("$name is rendered without changes (npm run -s goldens updates it, git diff shows the difference)", async (row) => {
  expect(await goldenText(row)).toBe(readFileSync(join(GOLDEN_FOLDER, `${row.name}.yaml`), "utf8"));
});

test("every file in rendered has a row", () => {
  expect(readdirSync(GOLDEN_FOLDER).sort()).toEqual(GOLDEN_ROWS.map(({ name }) => `${name}.yaml`).sort());
});
