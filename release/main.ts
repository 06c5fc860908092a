import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseYaml } from "../pkg/golang/yaml.ts";
import { AuditExceptions, judgeAudit } from "./auditGate.ts";
import { listRejectedLicenses } from "./licenses.ts";
import type { Lockfile } from "./packages.ts";

const USAGE = `usage: node release/main.ts licenses|audit

licenses checks the license of each package in the lockfile.
audit runs npm audit, and fails for each advisory without an exception in release/audit-exceptions.yaml. It needs a registry with advisories.`;

const ROOT = join(import.meta.dirname, "..");

/** Prints the findings of a check. @returns the exit status: 1 with findings, 2 for wrong usage */
function main(args: string[]): number {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const [command, ...others] = positionals;
  if (others.length > 0 || (command !== "licenses" && command !== "audit")) {
    console.error(USAGE);
    return 2;
  }
  return command === "licenses" ? checkLicenses() : checkAdvisories();
}

function checkLicenses(): number {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lockfile;
  const rejected = listRejectedLicenses(lock);
  for (const line of rejected) console.error(`license not allowed: ${line}`);
  return rejected.length > 0 ? 1 : 0;
}

function checkAdvisories(): number {
  const exceptions = AuditExceptions.parse(parseYaml(readFileSync(join(import.meta.dirname, "audit-exceptions.yaml"), "utf8")));
  const { stdout } = spawnSync("npm", ["audit", "--json", "--omit=dev"], { cwd: ROOT, encoding: "utf8" });
  const { failures, unused } = judgeAudit(JSON.parse(stdout), exceptions, new Date().toISOString().slice(0, 10));
  for (const line of failures) console.error(`advisory: ${line}`);
  for (const id of unused) console.error(`exception for ${id} is not needed any more: remove it from release/audit-exceptions.yaml`);
  return failures.length + unused.length > 0 ? 1 : 0;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 2;
}
