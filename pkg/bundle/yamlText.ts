import { YAMLException } from "js-yaml";
import { messageOf } from "../errors/errors.ts";
import { parseWithFlowIndent } from "../fbc/flowIndent.ts";
import { parseYamlDocuments } from "../fbc/yaml.ts";

/**
 * The document in `text`, null when there is none; what follows a line of three dots is not looked at.
 * @throws Error that begins as Go's does and names the line.
 */
export function yamlDocument(text: string): unknown {
  try {
    return parseWithFlowIndent(text, parseYamlDocuments)[0] ?? null;
  } catch (err) {
    const line = err instanceof YAMLException && err.mark ? `line ${err.mark.line + 1}: ` : "";
    const reason = err instanceof YAMLException ? err.reason : messageOf(err);
    throw new Error(`error converting YAML to JSON: yaml: ${line}${reason}`, { cause: err });
  }
}
