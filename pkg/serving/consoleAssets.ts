import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import * as z from "zod/mini";
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

/** Which part of the console a server shows: a cluster, or only the catalogs of catalogd. */
export type ConsoleMode = "console" | "catalog";

const PageFiles = z.array(z.object({ path: z.string(), files: z.array(z.string()) }));
const PageLists = z.object({ console: PageFiles, catalog: PageFiles });

/** How index.html refers to a file that the browser loads with it. */
const LINKS: Readonly<Record<string, string>> = {
  ".css": '"stylesheet"',
  ".js": '"modulepreload"',
  ".woff2": '"preload" as="font" type="font/woff2"',
};

/** Lists the scripts, styles and fonts of the page of each path, `*` for all other paths, as .ci/console.mjs wrote them. Empty if it did not. */
export function listPageFiles({ pages }: Pick<StaticAssets, "pages">, mode: ConsoleMode): z.infer<typeof PageFiles> {
  return pages === undefined ? [] : PageLists.parse(JSON.parse(pages))[mode];
}

/**
 * Returns index.html for a server. The build refers to files relative to index.html.
 * @param base path or relative path of the files, with a final slash
 * @param files scripts, styles and fonts that the browser loads with the page
 */
export function renderIndexPage(
  { index }: Pick<StaticAssets, "index">,
  { base, mode, files = [] }: { readonly base: string; readonly mode: ConsoleMode; readonly files?: readonly string[] | undefined },
): string {
  const links = files
    .filter((file) => !index.includes(`"./${file}"`))
    .map((file) => `<link rel=${LINKS[extname(file)]} crossorigin href="./${file}">`);
  return index
    .replace("</head>", () => `${links.join("")}</head>`)
    .replaceAll('"./', `"${base}`)
    .replace('name="olmv1-mode" content="console"', `name="olmv1-mode" content="${mode}"`);
}
