import { mapConcurrently, ReferenceRenderer, type RenderedReference } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { type CatalogFormat, catalogText, sortMetas } from "../../../../pkg/authoring/render/catalogText.ts";
import { parseMigrationLevel } from "../../../../pkg/authoring/render/migrate.ts";
import { imageTemplate } from "../../../../pkg/authoring/render/renderBundle.ts";
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

/** Prints what folders and images have for a catalog. @throws Error for the first reference that cannot be rendered. */
export async function printRenderedCatalog(terminal: Terminal, refs: readonly string[], options: RenderCommandOptions): Promise<void> {
  const level = levelOf(options);
  const imageOf = options.alphaImageRefTemplate === undefined ? undefined : imageTemplate(options.alphaImageRefTemplate);
  const rendered = await withReader(
    options,
    (reader) => renderAll(terminal, refs, new ReferenceRenderer(reader, { level, imageOf })),
    terminal.signal,
  );
  terminal.out(catalogText(sortMetas(rendered.flatMap(({ metas }) => metas)), options.output));
}

/** What each of these references holds, in their order; tells what is being done, and at the end what was passed over. @throws the error of the first that cannot be rendered. */
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

/** Tells what was passed over in what `ref` holds. */
export function warn(terminal: Pick<Terminal, "err">, ref: string, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`olmv1: warning: ${escapeControlCharacters(`${ref}: ${warning}`)}\n`);
}

/** The level that `--migrate` and `--migrate-level` ask for. @throws Error for both, and for a level that there is not. */
export function levelOf({
  migrate = false,
  migrateLevel,
}: Pick<RenderCommandOptions, "migrate" | "migrateLevel">): ReturnType<typeof parseMigrationLevel> {
  if (migrate && migrateLevel !== undefined) throw new Error("--migrate and --migrate-level cannot be given together");
  if (migrate) return "bundle-object-to-csv-metadata";
  return migrateLevel === undefined ? "none" : parseMigrationLevel(migrateLevel);
}
