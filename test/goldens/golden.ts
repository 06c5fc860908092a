import { join } from "node:path";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { getErrorMessage, TerminalError } from "../../pkg/errors/errors.ts";
import { toYaml } from "../../pkg/golang/yaml.ts";
import { readBundleFiles } from "../../pkg/operatorcontroller/bundles/bundleFiles.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import type { GoldenRow } from "./rows.ts";

/** Where the results lie, one file a row. */
export const GOLDEN_FOLDER = join(import.meta.dirname, "rendered");
const NAMESPACE = "install";

/** What the row gives, as text: its objects as documents of YAML in their order, or its error. */
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
