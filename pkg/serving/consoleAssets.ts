import { existsSync } from "node:fs";
import { join } from "node:path";
import { StaticAssets } from "./staticAssets.ts";

/** In a build, the files are in a folder next to the programs; `npm run build` writes it. */
const BUILT = join(import.meta.dirname, "console");
/** For programs that run from the sources; .ci/console.mjs writes it. */
const FROM_SOURCES = join(import.meta.dirname, "../../node_modules/.cache/olmv1-console");

/**
 * Loads the built files of the web console.
 * @throws Error if they were not built
 */
export function loadConsoleAssets(): StaticAssets {
  const folder = [BUILT, FROM_SOURCES].find((path) => existsSync(join(path, "index.html")));
  if (folder === undefined) throw new Error("the web console is not built: run npm run console");
  return new StaticAssets(folder);
}
