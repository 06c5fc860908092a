import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { generateFiles } from "./generatedFiles.ts";
import { PUBLIC_SURFACE_FILE } from "./publicSurface.ts";
import { findUnannounced, listBreakingChanges, parseSurface } from "./surfaceChanges.ts";

const USAGE = `Writes generated files: config/crd/*.yaml, docs/reference/{api,bundle-rules,catalog-rules,catalogd-api,cli,events,metrics,problems,public-surface,risk-classes}.md,
config/argocd/argocd-cm.yaml, config/operator-conditions/*.yaml, and the files of the Helm chart in config/helm that are generated from config/.

Writes nothing and exits with 1 if the public surface changes in a way that can break users, and CHANGELOG.md does not announce it.

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
  const unannounced = values.check ? [] : listUnannounced(root, new Map(differing).get(PUBLIC_SURFACE_FILE));
  for (const text of unannounced) {
    console.error(`${text}: announce it in the newest section of CHANGELOG.md under "### Breaking", "### Renamed" or "### Removed"`);
    process.exitCode = 1;
  }
  for (const [path, text] of unannounced.length > 0 ? [] : differing) {
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

/** Returns the breaking changes of the public surface that the changelog does not announce. @param next undefined if the surface does not change */
function listUnannounced(root: string, next: string | undefined): string[] {
  const before = current(join(root, PUBLIC_SURFACE_FILE));
  if (next === undefined || before === undefined) return [];
  const changes = listBreakingChanges(parseSurface(before), parseSurface(next));
  return findUnannounced(changes, current(join(root, "CHANGELOG.md")) ?? "").map(({ text }) => text);
}
