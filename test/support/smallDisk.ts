import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { World } from "./world.ts";

const MIB = 1024 * 1024;
const SIZE = 32 * MIB;
const BALLAST = "ballast";
const ATTEMPTS = 10;

/** Why this machine cannot mount a file system for a single process; undefined if it can. */
export function noSmallDisk(): string | undefined {
  try {
    execFileSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"], { stdio: "pipe" });
    return undefined;
  } catch (err) {
    return err instanceof Error ? err.message.trim() : String(err);
  }
}

/** Makes the bundled catalogd in a folder run with a small file system for its cache folder. */
export function putOnSmallDisk(programs: string): void {
  const program = join(programs, "catalogd.js");
  const real = join(programs, "catalogd-itself.js");
  renameSync(program, real);
  writeFileSync(
    program,
    `import { spawn } from "node:child_process";
const args = process.argv.slice(2);
const cache = args[args.lastIndexOf("--cache-dir") + 1];
const mount = 'mkdir -p "$0" && mount -t tmpfs -o size=${SIZE} tmpfs "$0" && exec "$@"';
const child = spawn("unshare", ["-rm", "sh", "-c", mount, cache, process.execPath, ${JSON.stringify(real)}, ...args], { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code) => process.exit(code ?? 1));
`,
  );
}

/** Accesses the file system with the cache of a world's catalogd from outside. */
export class SmallDisk {
  readonly #dir: string;

  constructor({ installation, workDir }: World) {
    const wrapper = installation.servers.catalogd.pid ?? 0;
    const pid = readFileSync(`/proc/${wrapper}/task/${wrapper}/children`, "utf8").trim();
    this.#dir = join(`/proc/${pid}/root`, workDir, "catalogd");
  }

  /** Fills it until only this number of bytes is free. */
  leave(bytes: number): void {
    fillDisk(this.#dir, bytes);
  }

  clear(): void {
    clearDisk(this.#dir);
  }

  /** Lists the files of a catalog's stored content. */
  stored(catalog: string): string[] {
    const dir = join(this.#dir, "catalogs", catalog);
    return existsSync(dir) ? readdirSync(dir) : [];
  }
}

/** Fills the file system of a folder until only this number of bytes is free. Measures again if its program writes at the same time. */
export function fillDisk(folder: string, free: number): void {
  for (let attempt = 1; ; attempt++) {
    const { bavail, bsize } = statfsSync(folder);
    try {
      return writeFileSync(join(folder, BALLAST), Buffer.alloc(Math.max(0, bavail * bsize - free)));
    } catch (err) {
      clearDisk(folder);
      if (attempt === ATTEMPTS || (err as NodeJS.ErrnoException).code !== "ENOSPC") throw err;
    }
  }
}

/** Frees what `fillDisk` used. */
export function clearDisk(folder: string): void {
  rmSync(join(folder, BALLAST), { force: true });
}
