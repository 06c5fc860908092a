import { formatMeta } from "../../pkg/authoring/render/catalogText.ts";
import { MIGRATION_LEVELS, migrateMeta } from "../../pkg/authoring/render/migrate.ts";
import { renderCatalogBundle } from "../../pkg/authoring/render/renderBundle.ts";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { decodeMetas } from "../../pkg/fbc/decode.ts";
import { goJson } from "../../pkg/golang/json.ts";
import { messageFault, type Outcome } from "./outcome.ts";

/** What can be wrong with a bundle is an Error of ours; its own classes are for mistakes in the program. */
const OWN: ReadonlySet<string> = new Set(["Error", "TerminalError"]);

/**
 * Makes of a bundle what a catalog has for it, at every level and in both formats, and judges what comes of it: an object that reads back as it was,
 * or a clear error.
 */
export async function catalogOutcomeOf(files: BundleFiles): Promise<Outcome> {
  try {
    const { meta } = renderCatalogBundle(files, ({ packageName, version }) => `registry.example/${packageName}:v${version}`);
    for (const level of MIGRATION_LEVELS) {
      const { blob } = migrateMeta(meta, level);
      for (const format of ["json", "yaml"] as const) {
        const text = Buffer.from(formatMeta(blob, format));
        const again = await Array.fromAsync(decodeMetas([text], `catalog.${format}`));
        if (again.map((one) => goJson(one.blob)).join() !== goJson(blob))
          return { result: "1 objects", fault: `${level}, ${format}: what is written reads back as something else` };
      }
    }
    return { result: "1 objects" };
  } catch (err) {
    const result = String(err).slice(0, 300);
    const name = err instanceof Error ? err.constructor.name : typeof err;
    if (!OWN.has(name)) return { result, fault: `no error of ours (${name}): ${err instanceof Error ? err.stack : String(err)}` };
    return { result, ...messageFault((err as Error).message) };
  }
}
