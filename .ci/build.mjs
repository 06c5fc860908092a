// `npm run build`: writes the bundled programs, the web console and the manual pages of the command line to dist/, or to the folder in the first
// argument.
// The build is reproducible.
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { CommandTerminal } from "../cmd/olmv1/cli/terminal.ts";
import { renderManPages } from "../cmd/olmv1/manPages.ts";
import { olmv1 } from "../cmd/olmv1/program.ts";
import { formatCycloneDx, formatSpdx } from "../release/billsOfMaterials.ts";
import { formatNotices, readNotices } from "../release/notices.ts";
import { listBundledPackages } from "../release/packages.ts";
import { buildConsole } from "./console.mjs";

const root = join(import.meta.dirname, "..");
const dist = resolve(process.argv[2] ?? join(root, "dist"));
/**
 * Entry points: programs, their worker threads, and modules that few processes need. As separate files, such modules do not use memory in other
 * processes.
 */
const entryPoints = {
  catalogd: "cmd/catalogd/main.ts",
  "operator-controller": "cmd/operator-controller/main.ts",
  "permission-manager": "cmd/permission-manager/main.ts",
  console: "cmd/console/main.ts",
  "cp-manifests": "cmd/cp-manifests/main.ts",
  loadWorker: "pkg/catalogd/load/loadWorker.ts",
  queryWorker: "pkg/catalogd/graphql/queryWorker.ts",
  segmentWorker: "pkg/catalogd/store/segmentWorker.ts",
  bundleWorker: "pkg/operatorcontroller/bundles/bundleWorker.ts",
  responseWorker: "pkg/operatorcontroller/catalogs/responseWorker.ts",
  hintWorker: "pkg/operatorcontroller/dependencies/hintWorker.ts",
  objectWorker: "pkg/operatorcontroller/crds/objectWorker.ts",
  issueWorker: "pkg/serving/issueWorker.ts",
  celRules: "pkg/resolve/cel/celRules.ts",
  schemaRules: "pkg/crdsafety/rules/schemaRules.ts",
  undici: "pkg/http/undici.ts",
  keylessTrust: "pkg/oci/signers/keylessTrust.ts",
};

/** The command line is split into chunks, so that each start loads only the modules of the command. */
const commandLine = { olmv1: "cmd/olmv1/main.ts" };

const missing = Object.values({ ...entryPoints, ...commandLine }).filter((file) => !existsSync(join(root, file)));
if (missing.length > 0) throw new Error(`missing entry points: ${missing.join(", ")}`);

/** client-node does not declare that its modules have no side effects, so all its models would be bundled. Only its credentials are used. */
const treeShakeClientNode = {
  name: "tree-shake-client-node",
  setup(builder) {
    builder.onResolve({ filter: /^@kubernetes\/client-node$/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === "resolving") return undefined;
      return { ...(await builder.resolve(path, { importer, resolveDir, kind, pluginData: "resolving" })), sideEffects: false };
    });
    // All imports contain full file names, so esbuild does not have to search for files.
    builder.onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) =>
      resolveDir.includes("@kubernetes/client-node")
        ? { path: join(resolveDir, path), sideEffects: path.endsWith("polyfill.js") }
        : undefined,
    );
  },
};

/** Dynamic imports of modules that are entry points refer to their files. */
const separateModules = {
  name: "separate-modules",
  setup(builder) {
    builder.onResolve({ filter: /\/(celRules|keylessTrust|schemaRules|undici)\.ts$/ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path: `./${basename(path, ".ts")}.js`, external: true } : undefined,
    );
  },
};

/**
 * Replacements for modules that libraries import for unused features: requests and proxies of client-node (pkg/http has its own, and imports the
 * files of undici that it needs), exemplars of prom-client, and test requests of fastify.
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

/** Omits the schema compilers of fastify (Ajv and fast-json-stringify). Routes are validated with zod and serialize their responses. */
const noSchemaCompilers = {
  name: "no-schema-compilers",
  setup(builder) {
    builder.onResolve({ filter: /^@fastify\/(ajv-compiler|fast-json-stringify-compiler)$/ }, ({ path }) => ({
      path,
      namespace: "no-schema-compilers",
    }));
    builder.onLoad({ filter: /.*/, namespace: "no-schema-compilers" }, () => ({
      contents: 'module.exports = () => () => { throw new Error("the programs are built without schema compilers"); };',
      loader: "js",
    }));
  },
};

/**
 * Importing node:http evaluates all its exports. Three of them load Node's fetch and WebSocket, which use 12 MB of memory. `process.getBuiltinModule`
 * does not load them.
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
  // Chunk names depend on module paths, which must not depend on the location of the packages.
  preserveSymlinks: true,
  metafile: true,
  outdir: dist,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  // Source maps are only for `node --enable-source-maps`, which uses 90 MB of memory. `keepNames` is not set, because it adds a call for each created
  // function; without it, names also stay, with a number if several modules have the same name.
  sourcemap: true,
  sourcesContent: false,
  // V8 keeps the source of a program in memory, with two bytes per character if any character, even in a comment, is not ASCII.
  minifyWhitespace: true,
  legalComments: "linked",
  // CommonJS packages call require for Node.js modules.
  banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
  plugins: [httpOnly, treeShakeClientNode, withoutUnused, noSchemaCompilers, separateModules],
  // Omits the second, experimental HTTP parser of undici.
  define: { esbuildDetection: "true" },
  logLevel: "warning",
};
const modules = buildConsole(join(dist, "console"));
const built = await Promise.all([
  build({ ...common, entryPoints }),
  build({ ...common, entryPoints: commandLine, splitting: true, chunkNames: "olmv1-[hash]" }),
]);
const metafile = {
  inputs: Object.assign({}, ...built.map((one) => one.metafile.inputs)),
  outputs: Object.assign({}, ...built.map((one) => one.metafile.outputs)),
};
// In an image, this package.json makes Node.js read .js files as ES modules.
await writeFile(join(dist, "package.json"), '{ "type": "module" }\n');
const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
const packages = listBundledPackages(metafile, await modules, lock);
await writeFile(join(dist, "sbom.cdx.json"), formatCycloneDx(packages, lock));
await writeFile(join(dist, "sbom.spdx.json"), formatSpdx(packages, lock));
await writeFile(join(dist, "THIRD_PARTY_NOTICES"), formatNotices(readNotices(packages, root)));
// The command line reads the scenarios of the conformance tests from its own folder.
await cp(join(root, "pkg/conformance/scenarios"), join(dist, "scenarios"), { recursive: true });
await mkdir(join(dist, "man", "man1"), { recursive: true });
const silentTerminal = new CommandTerminal({ out: () => undefined, err: () => undefined });
for (const [name, page] of renderManPages(olmv1(silentTerminal))) await writeFile(join(dist, "man", "man1", name), page);
for (const name of Object.keys(entryPoints)) {
  const at = (await readFile(join(dist, `${name}.js`), "utf8")).search(/[^\0-\x7f]/);
  if (at >= 0)
    throw new Error(`${name}.js: the character at ${at} is not ASCII, so V8 would need two bytes for each character of the program`);
}
for (const name of Object.keys({ ...entryPoints, ...commandLine })) {
  const { size } = await stat(join(dist, `${name}.js`));
  console.log(`${join(relative(process.cwd(), dist), name)}.js ${(size / 1024 / 1024).toFixed(1)} MB`);
}
