// `npm run build`: the programs, each with everything it needs, and the manual pages of the command line, in dist/ (or the folder that the first argument names).
// The same sources give the same bytes.
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { CommandTerminal } from "../cmd/olmv1/cli/terminal.ts";
import { renderManPages } from "../cmd/olmv1/manPages.ts";
import { olmv1 } from "../cmd/olmv1/program.ts";
import { billOfMaterials } from "./sbom.mjs";

const root = join(import.meta.dirname, "..");
const dist = resolve(process.argv[2] ?? join(root, "dist"));
/** Programs, the worker threads that they start as files of their own, and what hardly a process needs: it costs memory where it stands in the program. */
const entryPoints = {
  catalogd: "cmd/catalogd/main.ts",
  "operator-controller": "cmd/operator-controller/main.ts",
  loadWorker: "pkg/catalogd/load/loadWorker.ts",
  queryWorker: "pkg/catalogd/graphql/queryWorker.ts",
  segmentWorker: "pkg/catalogd/store/segmentWorker.ts",
  bundleWorker: "pkg/operatorcontroller/bundles/bundleWorker.ts",
  responseWorker: "pkg/operatorcontroller/catalogs/responseWorker.ts",
  objectWorker: "pkg/operatorcontroller/crds/objectWorker.ts",
  issueWorker: "pkg/serving/issueWorker.ts",
  celRules: "pkg/resolve/cel/celRules.ts",
  undici: "pkg/http/undici.ts",
};

/** The command line loads what a command needs when it runs: in parts beside it (where worker threads are found too), or each start would read all of them. */
const commandLine = { olmv1: "cmd/olmv1/main.ts" };

const missing = Object.values({ ...entryPoints, ...commandLine }).filter((file) => !existsSync(join(root, file)));
if (missing.length > 0) throw new Error(`nothing to build from: ${missing.join(", ")}`);

/** client-node does not say that importing its parts has no effects, so all of its models would come along: we use its credentials alone. */
const onlyWhatIsUsed = {
  name: "only-what-is-used",
  setup(builder) {
    builder.onResolve({ filter: /^@kubernetes\/client-node$/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === "resolving") return undefined;
      return { ...(await builder.resolve(path, { importer, resolveDir, kind, pluginData: "resolving" })), sideEffects: false };
    });
    // Thousands of imports: the file is named in full, so esbuild need not look for it.
    builder.onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) =>
      resolveDir.includes("@kubernetes/client-node")
        ? { path: join(resolveDir, path), sideEffects: path.endsWith("polyfill.js") }
        : undefined,
    );
  },
};

/** Imports of what has a file of its own find it there. */
const loadedLate = {
  name: "loaded-late",
  setup(builder) {
    builder.onResolve({ filter: /\/(celRules|undici)\.ts$/ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path: `./${basename(path, ".ts")}.js`, external: true } : undefined,
    );
  },
};

/**
 * What libraries import for features that the programs do not use, and what takes its place: client-node's own calls and proxies (pkg/http has others,
 * and imports the files of undici that it needs), prom-client's exemplars, fastify's requests for tests.
 */
const UNUSED = {
  undici: "export const Agent = undefined, ProxyAgent = undefined, fetch = undefined;",
  hpagent: "export class HttpProxyAgent {} export class HttpsProxyAgent {}",
  socks: "export class SocksClient {}",
  "socks-proxy-agent": "export class SocksProxyAgent {}",
  "@opentelemetry/api": "module.exports = {};",
  "light-my-request": "module.exports = undefined;",
};
const withoutUnused = {
  name: "without-unused",
  setup(builder) {
    builder.onResolve({ filter: new RegExp(`^(${Object.keys(UNUSED).join("|")})$`) }, ({ path }) => ({
      path,
      namespace: "without-unused",
    }));
    builder.onLoad({ filter: /.*/, namespace: "without-unused" }, ({ path }) => ({ contents: UNUSED[path] }));
  },
};

/** fastify's compilers of schemas (Ajv and fast-json-stringify): our routes are validated by zod, and responses are serialized by us. */
const noSchemaCompilers = {
  name: "no-schema-compilers",
  setup(builder) {
    builder.onResolve({ filter: /^@fastify\/(ajv-compiler|fast-json-stringify-compiler)$/ }, ({ path }) => ({
      path,
      namespace: "no-schema-compilers",
    }));
    builder.onLoad({ filter: /.*/, namespace: "no-schema-compilers" }, () => ({
      contents: 'module.exports = () => () => { throw new Error("the programs are built without compilers of schemas"); };',
      loader: "js",
    }));
  },
};

/**
 * An import statement of node:http reads all of its exports, and three of them load Node's own fetch and WebSocket when they are read: 12 MB of memory.
 * `process.getBuiltinModule` loads none of that.
 */
const httpOnly = {
  name: "http-only",
  setup(builder) {
    builder.onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === "import-statement" ? { path: "node:http", namespace: "http-only", sideEffects: false } : undefined,
    );
    builder.onLoad({ filter: /.*/, namespace: "http-only" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      loader: "js",
    }));
  },
};

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
const common = {
  absWorkingDir: root,
  // Where the packages really are is no business of what is built: names of parts depend on the paths of what is in them.
  preserveSymlinks: true,
  metafile: true,
  outdir: dist,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  // The lines of the sources are in the maps, for `node --enable-source-maps` when it is needed: in memory all the time they cost 90 MB.
  // Names stay without `keepNames`, but for a number behind one that several modules have; with it each function costs a call when it is created.
  sourcemap: true,
  sourcesContent: false,
  // V8 keeps the text of a program, with two bytes a letter when one of its comments is not ASCII.
  minifyWhitespace: true,
  legalComments: "linked",
  // Packages in CommonJS form call require for the modules of Node.
  banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
  plugins: [httpOnly, onlyWhatIsUsed, withoutUnused, noSchemaCompilers, loadedLate],
  // Leaves out undici's second, experimental parser of HTTP.
  define: { esbuildDetection: "true" },
  logLevel: "warning",
};
const built = await Promise.all([
  build({ ...common, entryPoints }),
  build({ ...common, entryPoints: commandLine, splitting: true, chunkNames: "olmv1-[hash]" }),
]);
const metafile = {
  inputs: Object.assign({}, ...built.map((one) => one.metafile.inputs)),
  outputs: Object.assign({}, ...built.map((one) => one.metafile.outputs)),
};
// Node takes a .js file for a module by the nearest package.json, which in an image is this one.
await writeFile(join(dist, "package.json"), '{ "type": "module" }\n');
const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
await writeFile(join(dist, "sbom.cdx.json"), `${JSON.stringify(billOfMaterials(metafile, lock), null, 1)}\n`);
await mkdir(join(dist, "man", "man1"), { recursive: true });
const nobody = new CommandTerminal({ out: () => undefined, err: () => undefined });
for (const [name, page] of renderManPages(olmv1(nobody))) await writeFile(join(dist, "man", "man1", name), page);
for (const name of Object.keys(entryPoints)) {
  const at = (await readFile(join(dist, `${name}.js`), "utf8")).search(/[^\0-\x7f]/);
  if (at >= 0) throw new Error(`${name}.js: a character at ${at} is not ASCII, so V8 would keep two bytes for each letter of the program`);
}
for (const name of Object.keys({ ...entryPoints, ...commandLine })) {
  const { size } = await stat(join(dist, `${name}.js`));
  console.log(`${join(relative(process.cwd(), dist), name)}.js ${(size / 1024 / 1024).toFixed(1)} MB`);
}
