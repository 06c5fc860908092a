import { hash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCompletionScript } from "../cmd/olmv1/commands/completion/script.ts";
import type { ArchivedFile } from "../pkg/oci/store/layerArchive.ts";
import { packLayout } from "../pkg/oci/store/layoutArchive.ts";
import { createFile, getFile, listFolder, packFiles } from "./archives.ts";
import { addNodeToCycloneDx, addNodeToSpdx } from "./billsOfMaterials.ts";
import { readReleaseNotes } from "./changelog.ts";
import { packChart, writeChartLayout } from "./chart.ts";
import { CHECKSUMS_FILE, computeChecksums, formatChecksums } from "./checksums.ts";
import { getPlatform } from "./executable.ts";
import { MANIFESTS, renderManifest } from "./manifests.ts";
import { findNodeLicense, NODE_LICENSE_FILE } from "./nodeJs.ts";
import { type PackedPackage, packNpmPackage } from "./npmPackage.ts";
import { findExecutables, formatHomebrewFormula, formatKrewManifest, getArchiveName, getExecutableName } from "./packageManagers.ts";
import { getChartFile, getChartLayoutFile, getImage, type ImageName, PROJECT, ROOT, readVersion } from "./project.ts";

/** Calls `work` with an empty folder that is removed afterwards. */
async function withScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-release-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Writes the archive with the executable for the platform of this process, in addition to completions, manual pages, licenses, notices and bills of
 * materials.
 * @param dist folder of the build
 * @param executable from `buildExecutable`
 * @param out existing folder
 * @returns the name of the archive
 */
export async function writeExecutableArchive(dist: string, executable: string, out: string): Promise<string> {
  const { os, arch } = getPlatform();
  const file = getArchiveName(readVersion(), os, arch);
  const files = [await getFile(executable, getExecutableName(os), true), ...(await listCompanions(dist))];
  await writeFile(join(out, file), await packFiles(files));
  return file;
}

/** Lists the files in an archive in addition to the executable. Its bills of materials also list Node.js, the one that runs this process. */
async function listCompanions(dist: string): Promise<ArchivedFile[]> {
  const node = { version: process.versions.node, sha256: hash("sha256", await readFile(process.execPath)) };
  const read = (name: string): Promise<string> => readFile(join(dist, name), "utf8");
  return [
    ...(await listFolder(dist, "", (path) => path.startsWith("man/") || path === "THIRD_PARTY_NOTICES")),
    createFile("sbom.cdx.json", addNodeToCycloneDx(await read("sbom.cdx.json"), node)),
    createFile("sbom.spdx.json", addNodeToSpdx(await read("sbom.spdx.json"), node)),
    ...listCompletions(),
    await getFile(join(ROOT, "LICENSE"), "LICENSE"),
    await getFile(await findNodeLicense(process.execPath), NODE_LICENSE_FILE),
  ];
}

/** Returns the completion scripts under the names that shells expect. */
function listCompletions(): ArchivedFile[] {
  return [
    createFile("completions/olmv1.bash", getCompletionScript("bash")),
    createFile("completions/_olmv1", getCompletionScript("zsh")),
    createFile("completions/olmv1.fish", getCompletionScript("fish")),
  ];
}

/** Options of `writeArtifacts`. */
export interface ArtifactOptions {
  /** Folder of the build. */
  readonly dist: string;
  /** Existing folder for the files. */
  readonly out: string;
  /** Path of kubectl. Without it, no manifests are rendered. */
  readonly kubectl: string | undefined;
  /** Digest of the pushed image. Undefined before it is pushed. */
  readonly digest?: string | undefined;
  readonly signal: AbortSignal;
}

/** What `writeArtifacts` wrote. */
export interface WrittenArtifacts {
  readonly npm: PackedPackage;
  /** Digest of the chart's manifest in a registry. */
  readonly chartDigest: string;
  /** Digest of the chart's archive. */
  readonly chart: Buffer;
}

/**
 * Writes all files of a release that do not depend on a platform: the package for npm, the chart as archive and as OCI layout, manifests, completions,
 * bills of materials, notices and release notes.
 */
export async function writeArtifacts({ dist, out, kubectl, digest, signal }: ArtifactOptions): Promise<WrittenArtifacts> {
  const version = readVersion();
  const image = getImage(version, digest);
  const npm = await withScratch((scratch) => packNpmPackage(dist, out, scratch));
  const chart = await packChart(image);
  await writeFile(join(out, getChartFile(version)), chart);
  const chartDigest = await withScratch(async (scratch) => {
    const written = await writeChartLayout(scratch, chart, signal);
    await packLayout(scratch, join(out, getChartLayoutFile(version)), signal);
    return written;
  });
  if (kubectl !== undefined) await writeManifests(kubectl, out, image);
  await writeFile(join(out, `${PROJECT.name}_${version}_completions.tar.gz`), await packFiles(listCompletions()));
  for (const [from, to] of [
    ["sbom.cdx.json", `${PROJECT.name}_${version}.cdx.json`],
    ["sbom.spdx.json", `${PROJECT.name}_${version}.spdx.json`],
    ["THIRD_PARTY_NOTICES", "THIRD_PARTY_NOTICES"],
  ] as const) {
    await writeFile(join(out, to), await readFile(join(dist, from)));
  }
  await writeFile(join(out, NOTES_FILE), readReleaseNotes(await readFile(join(ROOT, "CHANGELOG.md"), "utf8"), version));
  return { npm, chartDigest, chart };
}

async function writeManifests(kubectl: string, out: string, image: ImageName): Promise<void> {
  for (const [file, folder] of Object.entries(MANIFESTS)) await writeFile(join(out, file), await renderManifest(kubectl, folder, image));
}

/** File with the changes of a release. */
export const NOTES_FILE = "release-notes.md";

/** Writes the files that contain checksums of the other files in a folder: for krew, for Homebrew, and the list of all checksums. */
export async function writeIndexes(out: string): Promise<void> {
  const version = readVersion();
  await mkdir(out, { recursive: true });
  const executables = findExecutables(version, await computeChecksums(out));
  if (executables.length === 0) throw new Error(`${out} has no archives with executables. Run the command executable first`);
  await writeFile(join(out, "olmv1.krew.yaml"), formatKrewManifest(version, executables));
  await writeFile(join(out, "olmv1.rb"), formatHomebrewFormula(version, executables));
  await writeFile(join(out, CHECKSUMS_FILE), formatChecksums(await computeChecksums(out)));
}
