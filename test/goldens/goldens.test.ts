import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GOLDEN_FOLDER, goldenText } from "./golden.ts";
import { GOLDEN_ROWS } from "./rows.ts";

test.for(GOLDEN_ROWS)("$name renders to the stored file (npm run -s goldens updates the file)", async (row) => {
  expect(await goldenText(row)).toBe(readFileSync(join(GOLDEN_FOLDER, `${row.name}.yaml`), "utf8"));
});

test("every stored file in the golden folder has a row in GOLDEN_ROWS", () => {
  expect(readdirSync(GOLDEN_FOLDER).sort()).toEqual(GOLDEN_ROWS.map(({ name }) => `${name}.yaml`).sort());
});
