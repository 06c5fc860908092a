import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ReferenceRenderer } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { type CatalogFormat, formatCatalogFiles, isPathElement } from "../../../../pkg/authoring/render/catalogText.ts";
import type { MigrationLevel } from "../../../../pkg/authoring/render/migrate.ts";
import { parseImageTemplate } from "../../../../pkg/authoring/render/renderBundle.ts";
import { checkCatalog } from "../../../../pkg/catalogd/load/checkCatalog.ts";
import { getErrorMessage, ignoreMissingFile } from "../../../../pkg/errors/errors.ts";
import { getPackageName, Schema } from "../../../../pkg/fbc/content.ts";
import type { Meta } from "../../../../pkg/fbc/types.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { findPackageFolders } from "../../../../pkg/migrate/packageManifestFolders.ts";
import { type MigratedPackage, migratePackage } from "../../../../pkg/migrate/packageManifests.ts";
import { findLayoutPlace } from "../../../../pkg/oci/imagePlace.ts";
import { isFolderSource, type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { listTextSources } from "../../../../pkg/sources/catalogTexts.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { EXIT } from "../../cli/errors.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { parseLevelOptions, warn } from "./render.ts";
import { buildReport, formatCatalogReport } from "./validate.ts";

/** Options of `olmv1 catalog migrate`. */
export interface CatalogMigrateOptions extends ReaderOptions {
  readonly format: CatalogFormat;
  readonly bundleImageTemplate?: string;
  readonly bundlesDir?: string;
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
  readonly output: Output;
}

/** The result of a migration. */
interface Migration {
  readonly metas: readonly Meta[];
  /** Files of bundles from package manifests, by path. */
  readonly bundles: ReadonlyMap<string, Uint8Array>;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Runs `olmv1 catalog migrate`: writes package manifests or a catalog as a file-based catalog with a file per package. If the conversion fails,
 * writes nothing and exits with 1.
 * @throws Error for a source that cannot be read, or a non-empty folder.
 */
export async function migrate(terminal: Terminal, source: string, target: string, options: CatalogMigrateOptions): Promise<void> {
  const level = parseLevelOptions(options);
  for (const folder of [target, options.bundlesDir]) if (folder !== undefined) await checkEmpty(folder);
  const { metas, bundles, errors, warnings } = await withProgress(terminal, `migrating ${source}`, () =>
    migrateSource(source, level, options, terminal.signal),
  );
  warn(terminal, source, warnings);
  const files = errors.length > 0 ? new Map<string, string>() : formatCatalogFiles(metas, options.format);
  const checked = errors.length > 0 ? undefined : await checkCatalog(listTextSources(files));
  if (checked === undefined || checked.refusal !== undefined) {
    terminal.err(
      errors.map((error) => `error: ${escapeControlCharacters(error)}\n`).join("") +
        (checked ? formatCatalogReport(buildReport(checked)) : ""),
    );
    terminal.err("olmv1: no files were written\n");
    terminal.exit(EXIT.no);
    return;
  }
  for (const [path, text] of files) await write(join(target, path), text);
  const { bundlesDir } = options;
  if (bundlesDir !== undefined) for (const [path, content] of bundles) await write(join(bundlesDir, path), content);
  await printResult(terminal, metas, target, options);
}

async function migrateSource(
  source: string,
  level: MigrationLevel,
  options: CatalogMigrateOptions,
  signal: AbortSignal,
): Promise<Migration> {
  const isFolder = !(await findLayoutPlace(source)) && (await isFolderSource(source));
  const packages = isFolder ? await findPackageFolders(source) : new Map<string, never>();
  if (packages.size === 0) return readCatalogSource(source, level, options, signal);
  const formatImage = options.bundleImageTemplate === undefined ? (): string => "" : parseImageTemplate(options.bundleImageTemplate);
  const results = [...packages].map(([path, folder]) => {
    const result = migratePackage(folder, { imageOf: formatImage, level });
    return packages.size === 1 ? result : withPathPrefix(path, result);
  });
  const warnings = results.flatMap((result) => result.warnings);
  if (options.bundleImageTemplate === undefined)
    warnings.push(
      "the bundles have no image, so OLM v1 cannot install them: write them with --bundles-dir, build and push them, and set --bundle-image-template",
    );
  return {
    metas: results.flatMap((result) => result.metas),
    bundles: new Map(results.flatMap(bundleFiles)),
    errors: results.flatMap((result) => result.faults),
    warnings,
  };
}

function withPathPrefix(path: string, result: MigratedPackage): MigratedPackage {
  const prefix = (text: string): string => `${path}: ${text}`;
  return { ...result, faults: result.faults.map(prefix), warnings: result.warnings.map(prefix) };
}

/** Files such as `etcd/0.9.2/manifests/csv.yaml`. */
function bundleFiles({ name, bundles }: MigratedPackage): [string, Uint8Array][] {
  if (!isPathElement(name)) return []; // the check of the catalog's files rejects it
  return [...bundles].flatMap(([folder, files]) =>
    [...files].map(([path, content]): [string, Uint8Array] => [`${name}/${folder}/${path}`, content]),
  );
}

async function readCatalogSource(
  source: string,
  level: MigrationLevel,
  options: CatalogMigrateOptions,
  signal: AbortSignal,
): Promise<Migration> {
  try {
    const { metas, warnings } = await withReader(
      options,
      (reader) => new ReferenceRenderer(reader, { level, allowed: ["catalog folder", "catalog image"] }).render(source),
      signal,
    );
    return { metas, bundles: new Map(), errors: [], warnings };
  } catch (err) {
    throw new Error(`render catalog image: ${getErrorMessage(err)}`, { cause: err });
  }
}

async function checkEmpty(folder: string): Promise<void> {
  const entries = (await readdir(folder).catch(ignoreMissingFile)) ?? [];
  if (entries.length > 0) throw new Error(`output dir ${goQuote(folder)} must be empty`);
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

async function printResult(
  terminal: Terminal,
  metas: readonly Meta[],
  target: string,
  { format, output }: CatalogMigrateOptions,
): Promise<void> {
  const names = [...new Set(metas.map(getPackageName))].filter((name) => name !== "").sort();
  const packages = names.map((name) => {
    const own = metas.filter((meta) => getPackageName(meta) === name);
    const count = (schema: string): number => own.filter((meta) => meta.schema === schema).length;
    return { name, channels: count(Schema.channel), bundles: count(Schema.bundle), file: join(target, name, `catalog.${format}`) };
  });
  const rows = packages.map(({ name, channels, bundles, file }) => [name, String(channels), String(bundles), file]);
  await print(terminal, output, {
    data: { directory: target, packages },
    text: () => formatTable(terminal, ["PACKAGE", "CHANNELS", "BUNDLES", "FILE"], rows),
  });
}
