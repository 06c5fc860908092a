import { join } from "node:path";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { getErrorMessage, TerminalError } from "../../pkg/errors/errors.ts";
import { toYaml } from "../../pkg/golang/yaml.ts";
import { readBundleFiles } from "../../pkg/operatorcontroller/bundles/bundleFiles.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import type { GoldenRow } from "./rows.ts";

/** Folder of the results, one file for each row. */
export const GOLDEN_FOLDER = join(import.meta.dirname, "rendered");
const NAMESPACE = "install";

/** Renders a row as text: its objects as YAML documents in order, or its error. */
export async function goldenText({ name, bundle, options }: GoldenRow): Promise<string> {
  const files = await readBundleFiles(join(import.meta.dirname, "bundles", bundle));
  const { certProvider, ...others } = options;
  const head = `# ${name}: ${JSON.stringify({ ...others, certProvider: certProvider?.name })}\n`;
  try {
    const objects = renderBundle(loadBundle(files), { installNamespace: NAMESPACE, ...options });
    return head + objects.map((object) => `---\n${toYaml(object)}`).join("");
  } catch (err) {
    return `${head}---\n${toYaml({ error: getErrorMessage(err), terminal: err instanceof TerminalError })}`;
  }
}
