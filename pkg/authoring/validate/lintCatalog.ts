import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Deadline } from "../../async/clock.ts";
import { type CheckedCatalog, checkCatalogFolder } from "../../catalogd/load/checkCatalog.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { ContentPlace } from "../../fbc/types.ts";
import { parsePullReference } from "../../oci/reference.ts";
import { readLogins } from "../../oci/registry/authFile.ts";
import { RegistryAccess } from "../../oci/registry/registryAccess.ts";
import { RegistryError } from "../../oci/registry/registryError.ts";
import type { ReaderOptions } from "../../sources/bundleReader.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CatalogLint } from "../lint/catalogLint.ts";
import { DocumentLines } from "../lint/documentLines.ts";
import type { NamedImage } from "../lint/lintedCatalog.ts";
import { IMAGE_CHECKS, type LintBreach } from "../lint/lintRule.ts";
import { type CatalogFinding, compareCatalogFindings, convertFinding, reportUnreadableFile } from "./catalogFinding.ts";

/** A checked catalog with its findings. */
export interface LintedFolder {
  readonly checked: CheckedCatalog;
  /** Sorted by `compareCatalogFindings`. */
  readonly findings: readonly CatalogFinding[];
}

/** Returns findings of checks that need more than the catalog files, such as requests to registries. */
export type MoreFindings = (lint: CatalogLint) => Promise<readonly (LintBreach & Pick<CatalogFinding, "rule" | "severity">)[]>;

/**
 * Checks the catalog in a folder like opm and catalogd. If all files are readable, also runs the lints.
 * @param ignored codes of rules to skip.
 * @throws Error if the folder cannot be read or exceeds the limits of catalogd.
 */
export async function lintFolder(
  root: string,
  ignored: readonly string[],
  more: MoreFindings = () => Promise.resolve([]),
): Promise<LintedFolder> {
  const lint = new CatalogLint();
  const checked = await checkCatalogFolder(root, (meta) => lint.add(meta));
  const lines = new FileLines(root);
  const breaches = checked.faults.length > 0 ? [] : [...lint.findings(new Set(ignored)), ...(await more(lint))];
  const findings = [
    ...checked.faults.map(reportUnreadableFile),
    ...checked.findings.map(convertFinding),
    ...breaches.map(({ rule, severity, message, subject, path }): CatalogFinding => {
      const { schema, package: packageName, name, place } = subject;
      return { rule, severity, message, place: path ? lines.placeOf(place, path) : place, subject: { schema, package: packageName, name } };
    }),
  ];
  return { checked, findings: findings.filter(({ rule }) => !ignored.includes(rule)).sort(compareCatalogFindings) };
}

/** Reads each file with findings again, once, to find line numbers. */
class FileLines {
  readonly #root: string;
  readonly #files = new Map<string, DocumentLines>();

  constructor(root: string) {
    this.#root = root;
  }

  placeOf(place: ContentPlace, path: NonNullable<LintBreach["path"]>): ContentPlace {
    const { file, line } = place;
    if (line === undefined) return place;
    const lines = this.#files.get(file) ?? new DocumentLines(readFileSync(join(this.#root, file), "utf8"));
    this.#files.set(file, lines);
    return { ...place, line: lines.lineOf(line, path) };
  }
}

/** Maximum concurrent image requests. */
const PARALLEL = 8;
/** Timeout for one image, including all its mirrors, in milliseconds. */
const TIMEOUT_MS = 60_000;
const NOT_FOUND = 404;

type ImageFinding = LintBreach & { readonly rule: keyof typeof IMAGE_CHECKS; readonly severity: "error" | "warning" };

/**
 * Checks that the registries contain each image. Requests mirrors first, and a few images at a time.
 * @param onProgress is called after each image.
 * @throws AbortError if `signal` aborts.
 */
export async function checkImages(
  images: readonly NamedImage[],
  { registriesConf, authFile }: ReaderOptions,
  { env, signal }: { readonly env: Readonly<Record<string, string | undefined>>; readonly signal: AbortSignal },
  onProgress: (done: number, all: number) => void,
): Promise<ImageFinding[]> {
  const log = createLogger({ component: "olmv1", level: "silent" });
  const access = new RegistryAccess({ registriesConf, logins: readLogins(authFile, env, homedir()), env, log });
  const findings: ImageFinding[] = [];
  const waiting = images.values();
  let done = 0;
  const worker = async (): Promise<void> => {
    for (const image of waiting) {
      signal.throwIfAborted();
      const finding = await checkImage(image, access, signal);
      if (finding) findings.push(finding);
      onProgress(++done, images.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(PARALLEL, images.length) }, worker));
  } finally {
    await access.close();
  }
  return findings;
}

async function checkImage(
  { image, subject, path }: NamedImage,
  access: RegistryAccess,
  signal: AbortSignal,
): Promise<ImageFinding | undefined> {
  const finding = (rule: keyof typeof IMAGE_CHECKS, message: string): ImageFinding => ({
    rule,
    severity: IMAGE_CHECKS[rule].severity,
    subject,
    path,
    message,
  });
  try {
    using deadline = new Deadline(signal, TIMEOUT_MS);
    await access.look(parsePullReference(image), deadline.signal);
    return undefined;
  } catch (err) {
    signal.throwIfAborted();
    if (isMissing(err)) return finding("image-missing", `the registry does not contain image ${image}: ${getErrorMessage(err)}`);
    return finding("image-unchecked", `cannot check image ${image}: ${getErrorMessage(err)}`);
  }
}

function isMissing(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RegistryError) return e.status === NOT_FOUND;
  return false;
}
