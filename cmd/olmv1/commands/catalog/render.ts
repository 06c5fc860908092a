import { mapConcurrently, ReferenceRenderer, type RenderedReference } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { type CatalogFormat, formatCatalog, sortMetas } from "../../../../pkg/authoring/render/catalogText.ts";
import { parseMigrationLevel } from "../../../../pkg/authoring/render/migrate.ts";
import { parseImageTemplate } from "../../../../pkg/authoring/render/renderBundle.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog render`. */
export interface RenderCommandOptions extends ReaderOptions {
  readonly output: CatalogFormat;
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
  readonly alphaImageRefTemplate?: string;
}

/** Runs `olmv1 catalog render`. @throws Error for the first reference that cannot be rendered. */
export async function printRenderedCatalog(terminal: Terminal, refs: readonly string[], options: RenderCommandOptions): Promise<void> {
  const level = parseLevelOptions(options);
  const formatImage = options.alphaImageRefTemplate === undefined ? undefined : parseImageTemplate(options.alphaImageRefTemplate);
  const rendered = await withReader(
    options,
    (reader) => renderAll(terminal, refs, new ReferenceRenderer(reader, { level, imageOf: formatImage })),
    terminal.signal,
  );
  terminal.out(formatCatalog(sortMetas(rendered.flatMap(({ metas }) => metas)), options.output));
}

/** Renders references in their order. Prints progress, and warnings about ignored content. @throws the error of the first reference that cannot be rendered. */
export async function renderAll(terminal: Terminal, refs: readonly string[], renderer: ReferenceRenderer): Promise<RenderedReference[]> {
  const rendered = await withProgress(terminal, "rendering", (progress) =>
    mapConcurrently(refs, (ref) => {
      progress.now(`rendering ${ref}`);
      return renderer.render(ref);
    }),
  );
  for (const [i, { warnings }] of rendered.entries()) warn(terminal, refs[i] ?? "", warnings);
  return rendered;
}

/** Prints warnings about ignored content of a reference. */
export function warn(terminal: Pick<Terminal, "err">, ref: string, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`olmv1: warning: ${escapeControlCharacters(`${ref}: ${warning}`)}\n`);
}

/** Returns the level of `--migrate` or `--migrate-level`. @throws Error for both options, or an unknown level. */
export function parseLevelOptions({
  migrate = false,
  migrateLevel,
}: Pick<RenderCommandOptions, "migrate" | "migrateLevel">): ReturnType<typeof parseMigrationLevel> {
  if (migrate && migrateLevel !== undefined) throw new Error("--migrate and --migrate-level cannot be given together");
  if (migrate) return "bundle-object-to-csv-metadata";
  return migrateLevel === undefined ? "none" : parseMigrationLevel(migrateLevel);
}
