import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { generateFiles } from "./generatedFiles.ts";

const USAGE = `Writes generated files: config/crd/*.yaml, docs/reference/{api,bundle-rules,catalog-rules,catalogd-api,cli,events,metrics,problems,risk-classes}.md,
config/argocd/argocd-cm.yaml, config/operator-conditions/*.yaml, and the files of the Helm chart in config/helm that are generated from config/.

  --root DIR   folder to write to (default: the root of the repository)
  --check      print outdated files and exit with 1, without writing files`;

const { values } = parseArgs({
  options: { root: { type: "string" }, check: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
});
if (values.help) {
  console.log(USAGE);
} else {
  const root = values.root ?? join(import.meta.dirname, "../..");
  const differing = [...generateFiles()].filter(([path, text]) => current(join(root, path)) !== text);
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
