import { existsSync } from "node:fs";
import { join } from "node:path";
import { StaticAssets } from "./staticAssets.ts";

/** In a build, the files are in a folder next to the programs; `npm run build` writes it. */
const BUILT = join(import.meta.dirname, "console");
/** For programs that run from the sources; .ci/console.mjs writes it. */
const FROM_SOURCES = join(import.meta.dirname, "../../node_modules/.cache/olmv1-console");

/** Why the files are missing. */
export const NOT_BUILT = "the web console is not built: run npm run console";

/** Finds the built files of the web console; undefined if they were not built. Reads only their names and index.html. */
export function findConsoleAssets(): StaticAssets | undefined {
  const folder = [BUILT, FROM_SOURCES].find((path) => existsSync(join(path, "index.html")));
  return folder === undefined ? undefined : new StaticAssets(folder);
}

/**
 * Loads the built files of the web console.
 * @throws Error if they were not built
 */
export function loadConsoleAssets(): StaticAssets {
  const assets = findConsoleAssets();
  if (!assets) throw new Error(NOT_BUILT);
  return assets;
}

/**
 * Returns index.html for a server. The build refers to files relative to index.html.
 * @param base path or relative path of the files, with a final slash
 * @param mode `console` shows a cluster; `catalog` shows only the catalogs of catalogd
 */
export function renderIndexPage(
  { index }: StaticAssets,
  { base, mode }: { readonly base: string; readonly mode: "console" | "catalog" },
): string {
  return index.replaceAll('"./', `"${base}`).replace('name="olmv1-mode" content="console"', `name="olmv1-mode" content="${mode}"`);
}
