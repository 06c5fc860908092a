import { printable } from "../../../../pkg/errors/printable.ts";
import type { Meta } from "../../../../pkg/fbc/types.ts";
import { type CatalogFormat, catalogOrder, catalogText } from "../../../../pkg/fbcrender/catalogText.ts";
import { imageTemplate } from "../../../../pkg/fbcrender/imageTemplate.ts";
import { migrationLevel } from "../../../../pkg/fbcrender/migrate.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type ReaderOptions, withReader } from "../../rbac/bundleReader.ts";
import { ReferenceRenderer } from "./references.ts";

/** Options of `olmv1 catalog render`. */
export interface RenderCommandOptions extends ReaderOptions {
  readonly output: CatalogFormat;
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
  readonly alphaImageRefTemplate?: string;
}

/** Prints what folders and images have for a catalog. @throws Error for the first reference that cannot be rendered. */
export async function render(terminal: Terminal, refs: readonly string[], options: RenderCommandOptions): Promise<void> {
  const level = levelOf(options);
  const imageOf = options.alphaImageRefTemplate === undefined ? undefined : imageTemplate(options.alphaImageRefTemplate);
  const metas = await withReader(options, async (reader) => {
    const renderer = new ReferenceRenderer(reader, { level, imageOf });
    const rendered: Meta[] = [];
    await withProgress(terminal, "rendering", async (progress) => {
      for (const ref of refs) {
        progress.now(`rendering ${ref}`);
        const { metas: found, warnings } = await renderer.render(ref);
        warn(terminal, ref, warnings);
        rendered.push(...found);
      }
    });
    return rendered;
  });
  terminal.out(catalogText(catalogOrder(metas), options.output));
}

/** Tells what was passed over in what `ref` holds. */
export function warn(terminal: Pick<Terminal, "err">, ref: string, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`olmv1: warning: ${printable(`${ref}: ${warning}`)}\n`);
}

/** The level that `--migrate` and `--migrate-level` ask for. @throws Error for both, and for a level that there is not. */
export function levelOf({
  migrate = false,
  migrateLevel,
}: Pick<RenderCommandOptions, "migrate" | "migrateLevel">): ReturnType<typeof migrationLevel> {
  if (migrate && migrateLevel !== undefined) throw new Error("--migrate and --migrate-level cannot be given together");
  if (migrate) return "bundle-object-to-csv-metadata";
  return migrateLevel === undefined ? "none" : migrationLevel(migrateLevel);
}
