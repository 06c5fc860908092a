import { formatMeta } from "../../pkg/authoring/render/catalogText.ts";
import { MIGRATION_LEVELS, migrateMeta } from "../../pkg/authoring/render/migrate.ts";
import { renderCatalogBundle } from "../../pkg/authoring/render/renderBundle.ts";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { decodeMetas } from "../../pkg/fbc/decode.ts";
import { encodeGoJson } from "../../pkg/golang/json.ts";
import { findMessageFault, type Outcome } from "./outcome.ts";

/** Classes of expected errors in a bundle. Other classes are mistakes in the program. */
const EXPECTED: ReadonlySet<string> = new Set(["Error", "TerminalError"]);

/**
 * Renders the catalog blob of a bundle at every level and in both formats, and checks the result: a blob that reads
 * back unchanged, or a clear error.
 */
export async function checkCatalogCase(files: BundleFiles): Promise<Outcome> {
  try {
    const { meta } = renderCatalogBundle(files, ({ packageName, version }) => `registry.example/${packageName}:v${version}`);
    for (const level of MIGRATION_LEVELS) {
      const { blob } = migrateMeta(meta, level);
      for (const format of ["json", "yaml"] as const) {
        const text = Buffer.from(formatMeta(blob, format));
        const again = await Array.fromAsync(decodeMetas([text], `catalog.${format}`));
        if (again.map((one) => encodeGoJson(one.blob)).join() !== encodeGoJson(blob))
          return { result: "1 objects", fault: `${level}, ${format}: the written blob reads back differently` };
      }
    }
    return { result: "1 objects" };
  } catch (err) {
    const result = String(err).slice(0, 300);
    const name = err instanceof Error ? err.constructor.name : typeof err;
    if (!EXPECTED.has(name)) return { result, fault: `unexpected error (${name}): ${err instanceof Error ? err.stack : String(err)}` };
    return { result, ...findMessageFault((err as Error).message) };
  }
}
