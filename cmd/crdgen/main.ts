import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { generatedFiles } from "./generatedFiles.ts";

const USAGE = `Writes what is generated: config/crd/*.yaml and docs/reference/api.md, events.md and problems.md from pkg/api,
docs/reference/bundle-rules.md from pkg/authoring/bundlecheck, docs/reference/catalog-rules.md from pkg/fbc, docs/reference/cli.md from the programs' flags, docs/reference/metrics.md from their metrics, docs/reference/catalogd-api.md from the endpoints
of catalogd, and what the Helm chart in config/helm has from the rest of config/.

  --root DIR   where to write; the root of the repository by default
  --check      write nothing, name the files that differ and exit with 1`;

const { values } = parseArgs({
  options: { root: { type: "string" }, check: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
});
if (values.help) {
  console.log(USAGE);
} else {
  const root = values.root ?? join(import.meta.dirname, "../..");
  const differing = [...generatedFiles()].filter(([path, text]) => current(join(root, path)) !== text);
  for (const [path, text] of differing) {
    if (values.check) {
      console.error(`${path} is not up to date: run \`npm run generate\` and commit the result`);
      process.exitCode = 1;
    } else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
      console.log(`wrote ${path}`);
    }
  }
}

function current(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
