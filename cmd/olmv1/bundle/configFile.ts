import { readFile } from "node:fs/promises";
import { isObject } from "../../../pkg/api/jsonObject.ts";
import type { JsonObject } from "../../../pkg/api/k8s.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { parseYaml } from "../../../pkg/golang/yaml.ts";
import type { Terminal } from "../cli/terminal.ts";

/**
 * The configuration of an extension, YAML or JSON: what stands under `spec.config.inline`.
 * @param path `-` is standard input.
 * @throws Error that names the file, for one that cannot be read and for one that holds no object.
 */
export async function configFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<JsonObject> {
  try {
    const config = parseYaml(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
    if (!isObject(config)) throw new Error("the configuration is no object");
    return config;
  } catch (err) {
    throw wrapError(`${path === "-" ? "standard input" : path}: `, err);
  }
}
