import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findBinaries } from "../pkg/devcluster/binaries.ts";
import { parseYaml } from "../pkg/golang/yaml.ts";
import { writeArtifacts, writeExecutableArchive, writeIndexes } from "./artifacts.ts";
import { AuditExceptions, judgeAudit } from "./auditGate.ts";
import { findReleaseDay } from "./changelog.ts";
import { runChecks } from "./checkRunner.ts";
import { buildExecutable } from "./executable.ts";
import { listRejectedLicenses } from "./licenses.ts";
import type { Lockfile } from "./packages.ts";
import { PROJECT, parseTag, ROOT, readVersion } from "./project.ts";
import { listReleaseChecks } from "./releaseChecks.ts";
import { listImportedPackages, listShippedFolders } from "./shippedPackages.ts";
import { buildSite } from "./siteVersions.ts";

const USAGE = `usage: node release/main.ts COMMAND [options]

Checks:
  licenses       check the license of each package in the lockfiles
  audit          run npm audit, and fail for each advisory of a shipped package without an exception in release/audit-exceptions.yaml; needs a
                 registry with advisories
  check          build all parts of a release that this machine can build, and check them
  tag TAG        check that TAG, such as v1.0.0, is the version of package.json and package-lock.json, and has a dated section in CHANGELOG.md

Parts of a release, from the build in dist:
  artifacts      package for npm, Helm chart, manifests, completions, bills of materials, release notes
  executable     archive with the executable for this platform
  indexes        manifests for krew and Homebrew, and checksums of all files
  site           documentation of all versions, each in its folder, with a menu

Options:
  --out DIR        folder for the files (default: dist-release)
  --digest DIGEST  digest of the pushed image, for chart and manifests
  --base PATH      path of the documentation on its server (default: /)`;

/** Values of the options. */
interface Options {
  readonly out: string;
  readonly digest: string | undefined;
  readonly base: string;
}

const DIST = join(ROOT, "dist");
const COMMANDS: Readonly<Record<string, (options: Options) => number | Promise<number>>> = {
  licenses: checkLicenses,
  audit: checkAdvisories,
  check: checkRelease,
  async artifacts({ out, digest }) {
    await mkdir(out, { recursive: true });
    const { kubectl } = await findBinaries(console.error);
    if (kubectl === undefined) throw new Error("cannot render manifests: kubectl is missing. Add it to KUBEBUILDER_ASSETS");
    await writeArtifacts({ dist: DIST, out, kubectl: kubectl.path, digest, signal: endless() });
    return 0;
  },
  async executable({ out }) {
    await mkdir(out, { recursive: true });
    const scratch = await mkdtemp(join(tmpdir(), "olmv1-executable-"));
    try {
      const executable = join(scratch, PROJECT.name);
      await buildExecutable(DIST, executable);
      console.log(await writeExecutableArchive(DIST, executable, out));
      return 0;
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  },
  async indexes({ out }) {
    await writeIndexes(out);
    return 0;
  },
  async site({ out, base }) {
    await buildSite({ root: ROOT, base, out, say: console.log });
    return 0;
  },
};

/** Runs a command. @returns the exit status: 1 with findings, 2 for wrong usage */
async function main(args: string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args,
    allowPositionals: true,
    options: { out: { type: "string", default: "dist-release" }, digest: { type: "string" }, base: { type: "string", default: "/" } },
  });
  const [name = "", argument, ...others] = positionals;
  if (name === "tag" && argument !== undefined && others.length === 0) return checkTag(argument);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined || argument !== undefined) {
    console.error(USAGE);
    return 2;
  }
  return command({ out: resolve(values.out), digest: values.digest, base: values.base });
}

/** Ctrl-C ends the whole process, so nothing else needs to stop. */
function endless(): AbortSignal {
  return new AbortController().signal;
}

async function checkRelease(): Promise<number> {
  const work = await mkdtemp(join(tmpdir(), "olmv1-release-check-"));
  try {
    const { failed } = await runChecks(listReleaseChecks({ work, signal: endless() }), console.log);
    return failed > 0 ? 1 : 0;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function checkTag(tag: string): number {
  const version = parseTag(tag, readVersion(), readLockfile("package-lock.json").packages[""]?.version);
  if (findReleaseDay(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), version) !== undefined) return 0;
  console.error(`CHANGELOG.md has no section "## ${version} (year-month-day)". Set the day of the release`);
  return 1;
}

function readLockfile(file: string): Lockfile {
  return JSON.parse(readFileSync(join(ROOT, file), "utf8")) as Lockfile;
}

/** Returns the folders of the packages that a release may contain. */
function listShipped(): Set<string> {
  const lock = readLockfile("package-lock.json");
  return listShippedFolders(lock, listImportedPackages(ROOT, lock));
}

function checkLicenses(): number {
  const rejected = [
    ...listRejectedLicenses(readLockfile("package-lock.json"), listShipped()),
    ...listRejectedLicenses(readLockfile("site/package-lock.json"), listShippedFolders(readLockfile("site/package-lock.json"), [])),
  ];
  for (const line of rejected) console.error(`license not allowed: ${line}`);
  return rejected.length > 0 ? 1 : 0;
}

function checkAdvisories(): number {
  const exceptions = AuditExceptions.parse(parseYaml(readFileSync(join(import.meta.dirname, "audit-exceptions.yaml"), "utf8")));
  const { stdout } = spawnSync("npm", ["audit", "--json"], { cwd: ROOT, encoding: "utf8" });
  const { failures, unused } = judgeAudit(JSON.parse(stdout), exceptions, new Date().toISOString().slice(0, 10), listShipped());
  for (const line of failures) console.error(`advisory: ${line}`);
  for (const id of unused) console.error(`exception for ${id} is not needed any more: remove it from release/audit-exceptions.yaml`);
  return failures.length + unused.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 2;
}
