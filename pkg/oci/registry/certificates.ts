import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Additional certificate authorities and a client certificate for one registry, PEM. */
export interface RegistryTlsMaterial {
  readonly ca: readonly string[];
  readonly identity?: { readonly cert: string; readonly key: string } | undefined;
  /** hash of `ca` and `identity` */
  readonly fingerprint: string;
}

/**
 * Returns the folder of a registry's certificates: `dir` for every host if given, else the first
 * existing one of the usual per-host folders.
 */
export function getCertificateDir(dir: string | undefined, host: string, home: string): string | undefined {
  if (dir !== undefined) return dir;
  const usual = [join(home, ".config/containers/certs.d"), "/etc/containers/certs.d", "/etc/docker/certs.d"];
  return usual.map((folder) => join(folder, host)).find((folder) => existsSync(folder));
}

/**
 * Reads *.crt (certificate authorities) and the pair *.cert, *.key (the client certificate; of
 * several pairs the first by name). Ignores other files and a missing folder. Called for each pull,
 * so that a rotated authority is trusted immediately.
 * @param authorities certificate authorities in addition to the files
 * @throws Error if half of a pair is missing
 */
export async function readCertificates(dir: string | undefined, authorities: readonly string[] = []): Promise<RegistryTlsMaterial> {
  const names = dir === undefined ? [] : await listFileNames(dir);
  const ca = [...authorities];
  let identity: { cert: string; key: string } | undefined;
  for (const name of names) {
    if (name.endsWith(".crt")) ca.push(await readFile(join(dir ?? "", name), "utf8"));
    if (name.endsWith(".cert")) {
      const key = name.replace(/\.cert$/, ".key");
      if (!names.includes(key))
        throw new Error(`missing key ${key} for client certificate ${name}. Note that CA certificates should use the extension .crt`);
      identity ??= { cert: await readFile(join(dir ?? "", name), "utf8"), key: await readFile(join(dir ?? "", key), "utf8") };
    }
    if (name.endsWith(".key")) {
      const cert = name.replace(/\.key$/, ".cert");
      if (!names.includes(cert)) throw new Error(`missing client certificate ${cert} for key ${name}`);
    }
  }
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([ca, identity]))
    .digest("hex");
  return { ca, identity, fingerprint };
}

async function listFileNames(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).sort();
  } catch (err) {
    const code = (err as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "EACCES") return [];
    throw new Error(`reading the registry certificates in ${dir}: ${(err as Error).message}`, { cause: err });
  }
}
