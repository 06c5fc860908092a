import { printable } from "../../../../pkg/errors/printable.ts";
import type { Meta } from "../../../../pkg/fbc/types.ts";
import { type CatalogFormat, catalogOrder, catalogText } from "../../../../pkg/fbcrender/catalogText.ts";
import { imageTemplate } from "../../../../pkg/fbcrender/imageTemplate.ts";
import { migrationLevel } from "../../../../pkg/fbcrender/migrate.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { BundleReader, type ReaderOptions } from "../../rbac/bundleReader.ts";
import { ReferenceRenderer } from "./references.ts";

/** Options of `olmv1 catalog render`. */
export interface RenderCommandOptions extends ReaderOptions {
  readonly output: CatalogFormat;
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
  readonly alphaImageRefTemplate?: string;
}

/** Prints what folders and images have for a catalog. @throws Error for the first reference that cannot be rendered. */
export async function renderCatalog(refs: readonly string[], options: RenderCommandOptions, terminal: Terminal): Promise<void> {
  const level = levelOf(options);
  const imageOf = options.alphaImageRefTemplate === undefined ? undefined : imageTemplate(options.alphaImageRefTemplate);
  const reader = new BundleReader(options);
  try {
    const renderer = new ReferenceRenderer(reader, { level, imageOf });
    const metas: Meta[] = [];
    await withProgress(terminal, "rendering", async (progress) => {
      for (const ref of refs) {
        progress.now(`rendering ${ref}`);
        const rendered = await renderer.render(ref);
        for (const warning of rendered.warnings) terminal.err(`olmv1: warning: ${printable(`${ref}: ${warning}`)}\n`);
        metas.push(...rendered.metas);
      }
    });
    terminal.out(catalogText(catalogOrder(metas), options.output));
  } finally {
    await reader.close();
  }
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
