import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Certificates of authorities, PEM, a file each. */
export interface Authorities {
  readonly certificates: readonly string[];
  /** Changes with the certificates. */
  readonly fingerprint: string;
}

/** Where they are read. */
export interface AuthoritySource {
  /** As they are by now. */
  current(): Promise<Authorities>;
}

/** What was read a moment ago still holds. */
const FRESH_MS = 1_000;

/**
 * The certificates in a folder as they are by now: a rotated authority is trusted without a restart. Files without a certificate, and folders,
 * are passed over. What cannot be read later leaves what was read before.
 */
export class AuthorityFolder implements AuthoritySource {
  readonly #dir: string;
  readonly #now: () => number;
  #readAt: number;
  #last: Authorities;

  /** @param now milliseconds from any start. @throws Error when the folder cannot be read. */
  constructor(dir: string, now: () => number = () => performance.now()) {
    this.#dir = dir;
    this.#now = now;
    this.#last = authoritiesOf(namesOf(readdirSync(dir, { withFileTypes: true })).map((name) => readFileSync(join(dir, name), "utf8")));
    this.#readAt = now();
  }

  async current(): Promise<Authorities> {
    if (this.#now() - this.#readAt < FRESH_MS) return this.#last;
    try {
      const names = namesOf(await readdir(this.#dir, { withFileTypes: true }));
      this.#last = authoritiesOf(await Promise.all(names.map((name) => readFile(join(this.#dir, name), "utf8"))));
    } catch {
      // A mounted folder is replaced as a whole; it is there again in a moment.
    }
    this.#readAt = this.#now();
    return this.#last;
  }
}

function namesOf(entries: readonly { name: string; isDirectory(): boolean }[]): string[] {
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith("..")) // a mounted ConfigMap's own links
    .map(({ name }) => name)
    .sort();
}

/** The certificates in texts, and nothing of texts without one. */
export function authoritiesOf(texts: readonly string[]): Authorities {
  const certificates = texts.filter((text) => text.includes("-----BEGIN CERTIFICATE-----"));
  return { certificates, fingerprint: createHash("sha256").update(JSON.stringify(certificates)).digest("hex") };
}
