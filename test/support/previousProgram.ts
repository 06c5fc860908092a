import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
/** An earlier commit, until there is a release. Must build with the packages of this checkout. */
const COMMIT = "396d1c78";

const run = promisify(execFile);

/** An earlier version of the programs, built from the history of the repository. */
export class PreviousProgram implements AsyncDisposable {
  /** Tag or commit. */
  readonly version: string;
  /** Folder of the built programs. */
  readonly programs: string;
  /** Folder of the manifests. */
  readonly config: string;
  readonly #folder: string;

  private constructor(version: string, folder: string) {
    this.version = version;
    this.#folder = folder;
    this.programs = join(folder, "dist");
    this.config = join(folder, "source", "config");
  }

  /**
   * Builds the newest release in the history before the current commit, else a fixed commit. OLMV1_TEST_PREVIOUS selects another tag or commit.
   * @returns why it cannot be built, if the history does not contain it
   */
  static async build(): Promise<PreviousProgram | string> {
    const version = process.env["OLMV1_TEST_PREVIOUS"] ?? (await findRelease()) ?? COMMIT;
    const isKnown = await git("cat-file", "-e", `${version}^{commit}`).catch(() => undefined);
    if (isKnown === undefined) return `the history of this checkout does not contain ${version}`;
    const folder = await mkdtemp(join(tmpdir(), "olmv1-previous-"));
    const source = join(folder, "source");
    await mkdir(source);
    await git("archive", "--output", join(folder, "source.tar"), version);
    await run("tar", ["-xf", join(folder, "source.tar"), "-C", source]);
    await symlink(join(ROOT, "node_modules"), join(source, "node_modules"));
    await run(process.execPath, [join(source, ".ci/build.mjs"), join(folder, "dist")], { cwd: source });
    return new PreviousProgram(version, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function git(...args: string[]): Promise<string> {
  return (await run("git", args, { cwd: ROOT })).stdout.trim();
}

/** Returns the newest release tag before the current commit; undefined without one. */
async function findRelease(): Promise<string | undefined> {
  return git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^").catch(() => undefined);
}
