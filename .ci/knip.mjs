// Configures knip, which finds unused files, exports and packages. With `--production`, it ignores uses in tests: an export that only tests import
// must be used in its own file.
const STARTED_BY_PATH = [
  "pkg/**/*Worker.ts!",
  "pkg/render/generate/schemas.ts!",
  "test/bench/http/loadClient.ts",
  "test/conformance/deployed.ts",
  "test/conformance/patchSource.ts",
  "test/support/abortedWrites.ts",
  "test/support/conditionProgram.ts",
  "test/support/podHostname.ts",
  "test/support/streamClients.ts",
];

export default {
  entry: [
    "cmd/*/main.ts!",
    "cmd/olmv1/manPages.ts!",
    "console/src/main.tsx!",
    ".ci/*.mjs",
    "release/executableStart.ts",
    "test/*/main.ts",
    ...STARTED_BY_PATH,
  ],
  project: ["{cmd,pkg}/**/*.ts!", "release/**/*.ts", "console/src/**/*.{ts,tsx}!", "test/**/*.ts", ".ci/**/*.mjs"],
  exclude: ["binaries"], // optional: if a program is missing, tests skip the checks that need it
  ignoreExportsUsedInFile: process.argv.includes("--production"),
};
