import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { compareText } from "../pkg/text/compare.ts";

/** File of a release with the checksums of all others, in the form of sha256sum. */
export const CHECKSUMS_FILE = "SHA256SUMS";

/** Computes the SHA-256 checksums, in hexadecimal, of the files in a folder, by name. Ignores subfolders and the file with checksums. */
export async function computeChecksums(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && entry.name !== CHECKSUMS_FILE).map(({ name }) => name);
  const checksums = new Map<string, string>();
  for (const name of names.toSorted(compareText)) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, name)), hash);
    checksums.set(name, hash.digest("hex"));
  }
  return checksums;
}

/** Formats checksums for `sha256sum --check`. */
export function formatChecksums(checksums: ReadonlyMap<string, string>): string {
  return [...checksums].map(([name, sum]) => `${sum}  ${name}\n`).join("");
}
