import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GOLDEN_FOLDER, goldenText } from "./golden.ts";
import { GOLDEN_ROWS } from "./rows.ts";

/** Writes what rendering gives now, and names every file that is another by that. @returns 1 where one is, 2 where nothing may be written. */
async function main(): Promise<number> {
  if (process.env["CI"]) {
    console.error("goldens are written by somebody who reads the difference, never in CI");
    return 2;
  }
  mkdirSync(GOLDEN_FOLDER, { recursive: true });
  const wanted = new Map<string, string>();
  for (const row of GOLDEN_ROWS) wanted.set(`${row.name}.yaml`, await goldenText(row));
  const changed: string[] = [];
  for (const [file, text] of wanted) {
    const path = join(GOLDEN_FOLDER, file);
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    writeFileSync(path, text);
    changed.push(`written ${file}`);
  }
  for (const file of readdirSync(GOLDEN_FOLDER)) {
    if (wanted.has(file)) continue;
    rmSync(join(GOLDEN_FOLDER, file));
    changed.push(`removed ${file}`);
  }
  for (const line of changed) console.log(line);
  console.log(changed.length === 0 ? "nothing has changed" : "read the difference (git diff test/goldens): every line of it reaches users");
  return changed.length === 0 ? 0 : 1;
}

process.exitCode = await main();
