import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GOLDEN_FOLDER, goldenText } from "./golden.ts";
import { GOLDEN_ROWS } from "./rows.ts";

/** Writes the current results and lists the changed files. @returns 1 if a file changed, 2 if writing is not allowed. */
async function main(): Promise<number> {
  if (process.env["CI"]) {
    console.error("goldens cannot be written in CI: run `npm run -s goldens` locally and review the difference");
    return 2;
  }
  mkdirSync(GOLDEN_FOLDER, { recursive: true });
  const expected = new Map<string, string>();
  for (const row of GOLDEN_ROWS) expected.set(`${row.name}.yaml`, await goldenText(row));
  const changed: string[] = [];
  for (const [file, text] of expected) {
    const path = join(GOLDEN_FOLDER, file);
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    writeFileSync(path, text);
    changed.push(`wrote ${file}`);
  }
  for (const file of readdirSync(GOLDEN_FOLDER)) {
    if (expected.has(file)) continue;
    rmSync(join(GOLDEN_FOLDER, file));
    changed.push(`removed ${file}`);
  }
  for (const line of changed) console.log(line);
  console.log(changed.length === 0 ? "no changes" : "review the difference (git diff test/goldens): users see every line");
  return changed.length === 0 ? 0 : 1;
}

process.exitCode = await main();
