import { createReadStream } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { mapConcurrently, ReferenceRenderer } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { type CatalogFormat, formatCatalog, sortMetas } from "../../../../pkg/authoring/render/catalogText.ts";
import {
  type CatalogReference,
  type ComposedPart,
  type CompositeConfig,
  findSharedPackages,
  readCompositeConfig,
  selectMetas,
} from "../../../../pkg/authoring/template/composition.ts";
import { findCatalogFiles } from "../../../../pkg/catalogd/load/catalogFiles.ts";
import { type CatalogFileSource, type CheckedCatalog, checkCatalog } from "../../../../pkg/catalogd/load/checkCatalog.ts";
import { CONTENT_LIMITS } from "../../../../pkg/catalogd/load/loader.ts";
import { wrapError } from "../../../../pkg/errors/errors.ts";
import { getPackageName, Schema } from "../../../../pkg/fbc/content.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { listTextSources, requireAbsent } from "../../../../pkg/sources/catalogTexts.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { EXIT } from "../../cli/errors.ts";
import { readInputFile } from "../../cli/inputFiles.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { parseLevelOptions, warn } from "./render.ts";
import { buildReport, formatCatalogReport } from "./validate.ts";

/** Options of `olmv1 catalog compose`. */
export interface ComposeOptions extends ReaderOptions {
  readonly file: string;
  readonly outputDir?: string;
  readonly format: CatalogFormat;
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
  readonly force?: boolean;
  readonly output: Output;
}

/**
 * Runs `olmv1 catalog compose`: writes the catalogs in a references file to one catalog, with a folder for each. Exits with 1 if they cannot be
 * combined.
 * @throws Error for an invalid references file, a reference that cannot be rendered, or a non-empty folder.
 */
export async function compose(terminal: Terminal, options: ComposeOptions): Promise<void> {
  const level = parseLevelOptions(options);
  const config = await readConfig(terminal, options.file);
  const root = options.outputDir ?? config.name;
  const here = options.file === "-" ? "." : dirname(options.file);
  const parts = await withReader(
    options,
    (reader) => {
      const renderer = new ReferenceRenderer(reader, { level, allowed: ["catalog folder", "catalog image"] });
      return withProgress(terminal, "composing", (progress) =>
        mapConcurrently(config.references, (reference) => {
          progress.now(`rendering ${reference.name}`);
          return renderReference(reference, renderer, here, terminal);
        }),
      );
    },
    terminal.signal,
  );
  const files = new Map(
    parts.map(({ reference, metas }) => [`${reference.name}/index.${options.format}`, formatCatalog(sortMetas(metas), options.format)]),
  );
  const others = await listKeptFiles(root, files, options.force === true);
  const shared = findSharedPackages(parts);
  const checked = shared.length > 0 ? undefined : await checkCatalog(readSources(root, files, others));
  if (checked === undefined || checked.refusal !== undefined) {
    terminal.err(formatErrors(shared, checked));
    terminal.exit(EXIT.no);
    return;
  }
  for (const [path, text] of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  await printResult(terminal, config, root, parts, options);
}

async function readConfig(terminal: Terminal, file: string): Promise<CompositeConfig> {
  const text = await readInputFile(file, terminal);
  try {
    return readCompositeConfig(text);
  } catch (err) {
    throw wrapError(`${file}: `, err);
  }
}

async function renderReference(
  reference: CatalogReference,
  renderer: ReferenceRenderer,
  here: string,
  terminal: Terminal,
): Promise<ComposedPart> {
  const { source, name } = reference;
  const ref = "image" in source ? source.image : resolve(here, source.path);
  // An image reference takes precedence over a folder with the same name.
  const { metas, warnings } = "image" in source ? await renderer.renderImage(ref) : await renderer.render(ref);
  warn(terminal, name, warnings);
  return { reference, metas: selectMetas(reference, metas) };
}

/** Returns the files in `root` to keep. @throws Error for a non-empty folder without --force, or if `.indexignore` excludes a file to write. */
async function listKeptFiles(root: string, written: ReadonlyMap<string, string>, force: boolean): Promise<string[]> {
  if (!(await stat(root).catch(() => undefined))) return [];
  const paths = [...findCatalogFiles(root, CONTENT_LIMITS)].map(({ path }) => path);
  if (paths.length > 0 && !force)
    throw new Error(`output dir ${goQuote(root)} must be empty; use --force to overwrite composed files and keep others`);
  const found = new Set(paths);
  requireAbsent(
    root,
    [...written.keys()].filter((path) => !found.has(path)),
  );
  return paths.filter((path) => !written.has(path));
}

async function* readSources(
  root: string,
  files: ReadonlyMap<string, string>,
  others: readonly string[],
): AsyncGenerator<CatalogFileSource> {
  yield* listTextSources(files);
  for (const path of others) yield { path, bytes: createReadStream(join(root, path)) as AsyncIterable<Uint8Array> };
}

function formatErrors(shared: readonly string[], checked: CheckedCatalog | undefined): string {
  const lines = shared.map((error) => `error: ${escapeControlCharacters(error)}\n`).join("");
  return `${lines}${checked === undefined ? "" : formatCatalogReport(buildReport(checked))}olmv1: no files were written\n`;
}

async function printResult(
  terminal: Terminal,
  { repo, tag }: CompositeConfig,
  root: string,
  parts: readonly ComposedPart[],
  { format, output }: ComposeOptions,
): Promise<void> {
  const references = parts.map(({ reference: { name, source }, metas }) => ({
    name,
    ...source,
    file: join(root, name, `index.${format}`),
    packages: new Set(metas.map(getPackageName).filter((one) => one !== "")).size,
    bundles: metas.filter(({ schema }) => schema === Schema.bundle).length,
  }));
  const image = repo === "" ? undefined : `${repo}:${tag || "latest"}`;
  const rows = references.map(({ name, packages, bundles }) => [name, String(packages), String(bundles), `${name}/index.${format}`]);
  const next = `Next: olmv1 catalog build ${root} -t ${image ?? "IMAGE"}, or olmv1 catalog dockerfile ${root}\n`;
  await print(terminal, output, {
    data: { directory: root, ...(image === undefined ? {} : { image }), references },
    text: () => formatTable(terminal, ["REFERENCE", "PACKAGES", "BUNDLES", "FILE"], rows) + next,
  });
}
