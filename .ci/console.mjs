// Builds the web console from console/ into a folder. Without arguments, builds it for programs that run from the sources, unless that build is up to
// date: `node .ci/console.mjs [folder]`.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { build } from "vite";
import { CATALOG_PAGES, CONSOLE_PAGES } from "../console/src/app/pages.ts";
import { withoutUnusedRules } from "./consoleStyles.mjs";

const root = join(import.meta.dirname, "..");
/** The build for programs that run from the sources; pkg/serving/consoleAssets.ts reads it. */
const CACHE = join(root, "node_modules/.cache/olmv1-console");
const PAGES = "pages.json";
const STAMP = ".sources";
/** Fonts of texts and titles, which all pages use. */
const FONT_OF_ALL = /RedHat(Text|Display)VF-[\w-]{8}\.woff2$/;
const COMPRESSED = /\.(css|html|js|json|svg)$/;

/** Modules that many pages use become one file: each file costs the browser time, and small files compress worse. */
const CODE_SPLITTING = { groups: [{ name: "common", minShareCount: 8 }] };

/**
 * Returns the files of the page of each path, `*` for all other paths. pkg/serving/consoleAssets.ts reads them. A server lists them in the page, so that
 * browsers load all files at the same time, not each after the file that imports it.
 */
function listPages(output) {
  const chunks = output.filter(({ type }) => type === "chunk");
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const entries = chunks.filter(({ isEntry }) => isEntry);
  const find = (file) => chunks.find(({ facadeModuleId }) => facadeModuleId === join(root, "console/src", file));
  const fonts = output.map(({ fileName }) => fileName).filter((file) => FONT_OF_ALL.test(file));
  const list = (app, pages) =>
    [...flattenPages(pages), { path: "*", modules: [] }].map(({ path, modules }) => {
      const needed = [`app/${app}.tsx`, ...modules.map((module) => `pages/${module}.tsx`)].map(find);
      return { path, files: [...listFiles([...entries, ...needed], byName), ...fonts] };
    });
  return { console: list("App", CONSOLE_PAGES), catalog: list("CatalogApp", CATALOG_PAGES) };
}

/** Returns the paths of pages with their modules, the outermost first. */
function flattenPages(pages, parent = { path: "", modules: [] }) {
  return pages.flatMap(({ path, module, children }) => {
    const whole = path.startsWith("/") ? path : [parent.path, path].filter((part) => part !== "").join("/");
    const page = { path: whole, modules: [...parent.modules, module] };
    return children ? flattenPages(children, page) : [page];
  });
}

/** Returns the files of chunks and of what they import: scripts and styles. */
function listFiles(chunks, byName, files = new Set()) {
  for (const chunk of chunks) {
    if (files.has(chunk.fileName)) continue;
    files.add(chunk.fileName);
    listFiles(
      chunk.imports.map((name) => byName.get(name)),
      byName,
      files,
    );
    for (const style of chunk.viteMetadata.importedCss) files.add(style);
  }
  return files;
}

/** Builds the console into an empty folder, with a compressed copy of each text file. Returns the modules of the build, for the bill of materials. */
export async function buildConsole(folder) {
  const modules = new Set();
  // Vite builds React for development if a test runner has set another value.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = "production";
  const collectModules = {
    name: "collect-modules",
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) for (const id of Object.keys(chunk.modules ?? {})) modules.add(id);
    },
  };
  const output = await build({
    root: join(root, "console"),
    configFile: false,
    base: "./",
    logLevel: "error",
    plugins: [withoutUnusedRules, collectModules],
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2023",
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0, // the content security policy allows no data URLs but images
      reportCompressedSize: false,
      rolldownOptions: {
        output: { codeSplitting: CODE_SPLITTING },
        onLog: (level, log, handler) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : handler(level, log)),
      },
    },
  });
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
  const files = [output].flat().flatMap((one) => one.output);
  await writeFile(join(folder, PAGES), JSON.stringify(listPages(files)));
  for (const { fileName } of files) await compress(join(folder, fileName));
  for (const name of globSync("*.{js,svg}", { cwd: folder })) await compress(join(folder, name));
  return [...modules];
}

async function compress(file) {
  if (COMPRESSED.test(file)) await writeFile(`${file}.gz`, await promisify(gzip)(await readFile(file), { level: 9 }));
}

/** Builds the console for programs that run from the sources, unless its sources are unchanged. Vitest calls it as `setup` before the tests. */
export async function buildForSources() {
  const digest = digestSources();
  if (existsSync(join(CACHE, STAMP)) && (await readFile(join(CACHE, STAMP), "utf8")) === digest) return;
  const started = Date.now();
  const folder = `${CACHE}.${process.pid}`;
  await mkdir(folder, { recursive: true });
  await buildConsole(folder);
  await writeFile(join(folder, STAMP), digest);
  await rm(CACHE, { recursive: true, force: true });
  await rename(folder, CACHE);
  process.stderr.write(`built the web console in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
}

export { buildForSources as setup };

function digestSources() {
  const files = globSync(["console/**/*.*", "pkg/consoleapi/**/*.ts", ".ci/console*.mjs", "package-lock.json"], { cwd: root }).toSorted();
  const hash = createHash("sha256");
  for (const file of files)
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(join(root, file)))
      .update("\0");
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) await buildForSources();
  else await buildConsole(resolve(folder));
}
