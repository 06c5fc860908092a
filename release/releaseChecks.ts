import { execFile } from "node:child_process";
import { access, cp, mkdir, readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { findBinaries } from "../pkg/devcluster/binaries.ts";
import type { Tool } from "../pkg/devcluster/binaryCache.ts";
import { parseYaml, parseYamlDocuments } from "../pkg/golang/yaml.ts";
import { NOTES_FILE, type WrittenArtifacts, writeArtifacts, writeExecutableArchive, writeIndexes } from "./artifacts.ts";
import { readBaseImage } from "./baseImage.ts";
import { findReleaseDay } from "./changelog.ts";
import { NotRunError, type ReleaseCheck } from "./checkRunner.ts";
import { CHECKSUMS_FILE, computeChecksums, formatChecksums } from "./checksums.ts";
import { buildExecutable } from "./executable.ts";
import { writeImageBills } from "./imageBills.ts";
import { computeTreeDigest } from "./imageTree.ts";
import { MANIFESTS } from "./manifests.ts";
import { NODE_LICENSE_FILE, readPinnedNode } from "./nodeJs.ts";
import { runPackedPackage } from "./npmPackage.ts";
import { getPackageName, type Lockfile } from "./packages.ts";
import { getChartFile, getChartLayoutFile, getNpmFile, PROJECT, ROOT, readVersion } from "./project.ts";
import { listImportedPackages, listShippedFolders } from "./shippedPackages.ts";

const run = promisify(execFile);
const MAX_OUTPUT = 2 ** 26;

/** Two builds of the same sources, and the files that were made from each. */
interface TwoBuilds {
  readonly dist: readonly [string, string];
  readonly out: readonly [string, string];
  readonly written: [WrittenArtifacts?, WrittenArtifacts?];
}

/** Options of `listReleaseChecks`. */
export interface CheckOptions {
  /** Empty folder. */
  readonly work: string;
  /** Folders of two builds of these sources. Default: the first check builds twice. */
  readonly dist?: readonly [string, string];
  readonly signal: AbortSignal;
}

/**
 * Returns the checks of a release that this machine can run, in order; later checks use the files of earlier ones. It also returns those that need
 * Docker, the network or another platform: they are never run.
 */
export function listReleaseChecks({ work, dist, signal }: CheckOptions): ReleaseCheck[] {
  const folders = (name: string) => [join(work, "first", name), join(work, "second", name)] as const;
  const builds: TwoBuilds = { dist: dist ?? folders("dist"), out: folders("release"), written: [] };
  const version = readVersion();
  return [
    { name: "image files", run: () => checkBuilds(builds, dist === undefined) },
    { name: "bills of materials", run: () => checkBills(builds, join(work, "bills")) },
    { name: "files without a platform", run: () => writeTwice(builds, signal) },
    { name: "npm package", run: () => checkNpmPackage(builds, version, join(work, "npm")) },
    { name: "chart", run: () => checkChart(builds, version) },
    { name: "manifests", run: () => checkManifests(builds, version) },
    { name: "completions", run: () => checkCompletions(builds, version, join(work, "completions")) },
    { name: "executable", run: () => checkExecutable(builds, version, join(work, "executable")) },
    { name: "krew, Homebrew, checksums", run: () => checkIndexes(builds, version) },
    { name: "release notes", run: () => checkNotes(builds, version) },
    { name: "image", run: notRun("needs Docker and the base image") },
    { name: "ppc64le and s390x", run: notRun("needs Docker and QEMU") },
    { name: "macOS and Windows", run: notRun("the executable is built for the platform that runs the check") },
    { name: "signatures, provenance", run: notRun("needs the identity of the release workflow") },
  ];
}

function notRun(reason: string): () => Promise<never> {
  return () => Promise.reject(new NotRunError(reason));
}

async function checkBuilds({ dist }: TwoBuilds, isMissing: boolean): Promise<string> {
  for (const folder of isMissing ? dist : []) await run(process.execPath, [join(ROOT, ".ci/build.mjs"), folder], { cwd: ROOT });
  const [first, second] = [await computeTreeDigest(dist[0]), await computeTreeDigest(dist[1])];
  if (first !== second) throw new Error(`two builds differ: ${first} and ${second}`);
  return `${first}, the same twice`;
}

/** Files with the bills of materials of a build. */
const BILLS = ["sbom.cdx.json", "sbom.spdx.json"];

/** The image itself is not built here, so that the Node.js of this process stands for that of the base image. */
async function checkBills({ dist }: TwoBuilds, scratch: string): Promise<string> {
  const [cycloneDx, spdx] = await Promise.all(BILLS.map((name) => readFile(join(dist[0], name), "utf8")));
  const { components } = JSON.parse(cycloneDx ?? "") as { components: { name: string; version: string }[] };
  const { packages } = JSON.parse(spdx ?? "") as { packages: unknown[] };
  if (components.length === 0 || packages.length !== components.length + 1)
    throw new Error(`CycloneDX lists ${components.length} packages, SPDX ${packages.length - 1}`);
  const lock = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as Lockfile;
  const judged = [...listShippedFolders(lock, listImportedPackages(ROOT, lock))].map((folder) => describePackage(folder, lock));
  const unjudged = components.map(({ name, version }) => `${name} ${version}`).filter((one) => !judged.includes(one));
  if (unjudged.length > 0) throw new Error(`the audit and the check of licenses ignore bundled packages: ${unjudged.join(", ")}`);
  const base = await readBaseImage(join(ROOT, "Dockerfile"), process.execPath);
  await mkdir(scratch, { recursive: true });
  for (const name of BILLS) await cp(join(dist[0], name), join(scratch, name));
  await writeImageBills(scratch, base);
  for (const name of BILLS) {
    const bill = await readFile(join(scratch, name), "utf8");
    if (![`"${base.name}"`, `"${base.digest}"`, `"pkg:generic/node@${process.versions.node}"`].every((text) => bill.includes(text)))
      throw new Error(`${name} of the image lacks the base image or Node.js`);
  }
  return `${components.length} packages in CycloneDX and SPDX, in the image also ${base.name} and Node.js`;
}

function describePackage(folder: string, { packages }: Lockfile): string {
  return `${getPackageName(folder)} ${packages[folder]?.version}`;
}

/** Returns the path of a program of the control plane. @throws NotRunError if no control plane was built. */
async function findTool(tool: Tool): Promise<string> {
  const found = await findBinaries(() => undefined).catch((err: unknown) => {
    throw new NotRunError(`needs ${tool}: ${err instanceof Error ? err.message.split("\n")[0] : String(err)}`);
  });
  const path = found[tool]?.path;
  if (path === undefined) throw new NotRunError(`needs ${tool}`);
  return path;
}

async function writeTwice({ dist, out, written }: TwoBuilds, signal: AbortSignal): Promise<string> {
  const kubectl = await findTool("kubectl").catch(() => undefined);
  for (const i of [0, 1] as const) {
    await mkdir(out[i], { recursive: true });
    written[i] = await writeArtifacts({ dist: dist[i], out: out[i], kubectl, signal });
  }
  const [first, second] = await Promise.all(out.map(async (folder) => formatChecksums(await computeChecksums(folder))));
  if (first !== second) throw new Error(`the files of two builds differ:\n${first}${second}`);
  return `${first?.trimEnd().split("\n").length ?? 0} files, the same twice`;
}

/** Files that the package must contain. */
const NPM_FILES = ["LICENSE", "README.md", "THIRD_PARTY_NOTICES", "console/index.html", "man/man1/olmv1.1", "olmv1.js", "sbom.cdx.json"];

async function checkNpmPackage({ out, written: [first] }: TwoBuilds, version: string, scratch: string): Promise<string> {
  if (first === undefined) throw new Error("the package was not built");
  const { file, paths } = first.npm;
  if (file !== getNpmFile(version)) throw new Error(`npm packed ${file}, not ${getNpmFile(version)}`);
  const missing = NPM_FILES.filter((path) => !paths.includes(path));
  const unwanted = paths.filter((path) => path.endsWith(".map") || /^(catalogd|operator-controller)\.js$/.test(path));
  if (missing.length + unwanted.length > 0) throw new Error(`missing: ${missing.join(", ")}; unwanted: ${unwanted.join(", ")}`);
  await mkdir(scratch);
  const printed = await runPackedPackage(join(out[0], file), scratch, ["olmv1", "version", "--client"]);
  if (!printed.includes(version)) throw new Error(`the installed package printed ${printed}`);
  return `${paths.length} files, prints its version`;
}

async function checkChart({ out, written: [first] }: TwoBuilds, version: string): Promise<string> {
  const helm = await findTool("helm");
  const chart = join(out[0], getChartFile(version));
  await run(helm, ["lint", "--strict", chart]);
  const rendering = ["template", PROJECT.name, chart, "--namespace", "olmv1-system"];
  const { stdout } = await run(helm, rendering, { maxBuffer: MAX_OUTPUT });
  if (!stdout.includes(`${PROJECT.image}:${version}`)) throw new Error(`the rendered chart does not refer to ${PROJECT.image}:${version}`);
  const wrong = await run(helm, [...rendering, "--set", "unknown=1"], { maxBuffer: MAX_OUTPUT }).catch(() => undefined);
  if (wrong !== undefined) throw new Error("values.schema.json accepts an unknown value");
  await access(join(out[0], getChartLayoutFile(version)));
  return `${parseYamlDocuments(stdout).length} objects, in a registry ${first?.chartDigest ?? ""}`;
}

async function checkManifests({ out }: TwoBuilds, version: string): Promise<string> {
  await findTool("kubectl");
  const texts = await Promise.all(Object.keys(MANIFESTS).map((file) => readFile(join(out[0], file), "utf8")));
  const objects = texts.map((text) => parseYamlDocuments(text).length);
  if (texts.some((text) => !text.includes(`${PROJECT.image}:${version}`))) throw new Error("a manifest has another image");
  return Object.keys(MANIFESTS)
    .map((file, i) => `${file} (${objects[i]} objects)`)
    .join(", ");
}

/** Shells and how they check a script. */
const SHELLS = [
  { shell: "bash", script: "olmv1.bash", args: ["-n"] },
  { shell: "zsh", script: "_olmv1", args: ["-n"] },
  { shell: "fish", script: "olmv1.fish", args: ["--no-execute"] },
];

async function checkCompletions({ out }: TwoBuilds, version: string, scratch: string): Promise<string> {
  await mkdir(scratch);
  await run("tar", ["-xzf", join(out[0], `${PROJECT.name}_${version}_completions.tar.gz`), "-C", scratch]);
  const checked: string[] = [];
  for (const { shell, script, args } of SHELLS) {
    await access(join(scratch, "completions", script));
    if (!(await isOnPath(shell))) continue;
    await run(shell, [...args, join(scratch, "completions", script)]);
    checked.push(shell);
  }
  if (checked.length === 0) throw new NotRunError(`needs ${SHELLS.map(({ shell }) => shell).join(", ")}`);
  return `syntax checked by ${checked.join(", ")}`;
}

async function isOnPath(program: string): Promise<boolean> {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const found = await Promise.all(
    folders.map((folder) =>
      access(join(folder, program)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

async function checkExecutable({ dist, out }: TwoBuilds, version: string, scratch: string): Promise<string> {
  const pinned = readPinnedNode();
  if (process.versions.node !== pinned) throw new NotRunError(`needs Node.js ${pinned}, this is ${process.versions.node}`);
  const executables = [join(scratch, "first", PROJECT.name), join(scratch, "second", PROJECT.name)] as const;
  await Promise.all(executables.map((file, i) => buildExecutable(dist[i] ?? "", file)));
  const archive = await writeExecutableArchive(dist[0], executables[0], out[0]);
  await run("tar", ["-xzf", join(out[0], archive), "-C", scratch]);
  const license = await readFile(join(scratch, NODE_LICENSE_FILE), "utf8");
  if (!license.startsWith("Node.js is licensed")) throw new Error(`${NODE_LICENSE_FILE} is not the license of Node.js`);
  // Without PATH and home, it must not find another Node.js or an unpacked copy.
  const env = { XDG_CACHE_HOME: join(scratch, "cache"), PATH: "" };
  const { stdout } = await run(join(scratch, PROJECT.name), ["version", "--client"], { cwd: scratch, env });
  if (!stdout.includes(version)) throw new Error(`the executable printed ${stdout}`);
  const [first, second] = await Promise.all(executables.map((file) => readFile(file)));
  const isSame = first?.equals(second ?? Buffer.of()) === true;
  if (!isSame && process.platform !== "darwin") throw new Error("two executables differ");
  return `${archive}, prints its version, ${isSame ? "the same twice" : "signed with a time"}`;
}

async function checkIndexes({ out }: TwoBuilds, version: string): Promise<string> {
  await writeIndexes(out[0]);
  const sums = await readFile(join(out[0], CHECKSUMS_FILE), "utf8");
  if (sums !== formatChecksums(await computeChecksums(out[0]))) throw new Error(`${CHECKSUMS_FILE} does not match the files`);
  const krew = parseYaml(await readFile(join(out[0], "olmv1.krew.yaml"), "utf8")) as {
    spec: { version: string; platforms: { sha256: string }[] };
  };
  const formula = await readFile(join(out[0], "olmv1.rb"), "utf8");
  const listed = krew.spec.platforms.every(({ sha256 }) => sums.includes(sha256) && formula.includes(sha256));
  if (!listed || krew.spec.version !== `v${version}`)
    throw new Error("krew and Homebrew have other checksums or versions than the archives");
  const isRuby = await isOnPath("ruby");
  if (isRuby) await run("ruby", ["-c", join(out[0], "olmv1.rb")]);
  return `${sums.trimEnd().split("\n").length} checksums${isRuby ? ", formula checked by ruby" : ""}`;
}

async function checkNotes({ out }: TwoBuilds, version: string): Promise<string> {
  const notes = await readFile(join(out[0], NOTES_FILE), "utf8");
  const day = findReleaseDay(await readFile(join(ROOT, "CHANGELOG.md"), "utf8"), version);
  return `${notes.trimEnd().split("\n").length} lines for ${version}, ${day ?? "not released yet"}`;
}
