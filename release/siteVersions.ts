import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { compare, parse, type SemVer } from "semver";

/** A version of the documentation. Its members are in versions.json, which the menu of each page reads. */
export interface SiteVersion {
  /** For the menu: a minor version, or "main" for the next release. */
  readonly name: string;
  /** Folder in the site. It does not change with patch releases, so that links stay valid. */
  readonly folder: string;
  /** Tag of git; undefined for the checkout. */
  readonly tag?: string;
}

/** Input of `buildSite`. */
export interface SiteBuild {
  /** A checkout with its tags. */
  readonly root: string;
  /** Path of the site on its server, such as "/olmv1/". */
  readonly base: string;
  /** Folder for the site. */
  readonly out: string;
  readonly say: (line: string) => void;
}

const MAIN: SiteVersion = { name: "main", folder: "main" };
/** Maximum number of minor versions with their own documentation. */
const MINORS_MAX = 5;

const run = promisify(execFile);

/**
 * Returns the versions to build: the last patch release of the newest minor versions, newest first, and then the checkout.
 * @param tags of git; ignores those that are not releases, and pre-releases
 */
export function chooseSiteVersions(tags: readonly string[]): SiteVersion[] {
  const releases = tags
    .flatMap((tag) => (tag.startsWith("v") ? [parse(tag.slice(1))] : []))
    .filter((version): version is SemVer => version !== null && version.prerelease.length === 0)
    .sort((a, b) => compare(b, a));
  const minors = Map.groupBy(releases, ({ major, minor }) => `${major}.${minor}`);
  const newest = [...minors].slice(0, MINORS_MAX);
  return [...newest.map(([name, [last]]) => ({ name, folder: `v${name}`, tag: `v${last?.version}` })), MAIN];
}

/** Builds the documentation of all versions, each in its folder, with versions.json and a page that leads to the first version. */
export async function buildSite({ root, base, out, say }: SiteBuild): Promise<readonly SiteVersion[]> {
  const { stdout } = await run("git", ["tag", "--list"], { cwd: root });
  const versions = chooseSiteVersions(stdout.split("\n"));
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  for (const version of versions) {
    say(`building the documentation of ${version.tag ?? version.name}`);
    await buildVersion(version, { root, base, out });
  }
  await writeFile(join(out, "versions.json"), `${JSON.stringify(versions.map(({ name, folder }) => ({ name, folder })))}\n`);
  await writeFile(join(out, "index.html"), formatRedirect(`${base}${versions[0]?.folder}/`));
  return versions;
}

async function buildVersion({ folder, tag }: SiteVersion, { root, base, out }: Omit<SiteBuild, "say">): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "olmv1-site-"));
  try {
    const source = tag === undefined ? root : await extractTag(root, tag, scratch);
    const env = { ...process.env, OLMV1_SITE_BASE: `${base}${folder}/`, OLMV1_SITE_ROOT: base };
    await run("npm", ["--prefix", "site", "ci", "--no-audit", "--no-fund"], { cwd: source });
    await run("npm", ["--prefix", "site", "run", "build"], { cwd: source, env });
    await cp(join(source, "dist-site"), join(out, folder), { recursive: true });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Writes the files of a tag to a folder. @returns the folder with the files */
async function extractTag(root: string, tag: string, scratch: string): Promise<string> {
  const [archive, source] = [join(scratch, "source.tar"), join(scratch, "source")];
  await mkdir(source);
  await run("git", ["archive", "--output", archive, `refs/tags/${tag}`], { cwd: root });
  await run("tar", ["-xf", archive, "-C", source]);
  return source;
}

function formatRedirect(path: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>olmv1</title>
    <meta http-equiv="refresh" content="0; url=${path}">
  </head>
  <body>
    <a href="${path}">Documentation of olmv1</a>
  </body>
</html>
`;
}
