import { readFile } from "node:fs/promises";
import { ValuesSource } from "../../../pkg/api/extensionConfig.ts";
import { isObject } from "../../../pkg/api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { withStringData } from "../../../pkg/release/cleanObject.ts";
import { HiddenTexts } from "../../../pkg/render/redaction.ts";
import { mergedConfig, type ReadSource } from "../../../pkg/render/configSources.ts";
import type { Terminal } from "../cli/terminal.ts";

/** A configuration that is put together from sources. */
export interface SourcedConfig {
  readonly config: JsonObject;
  /** What of it is shown in no message. */
  readonly hidden: HiddenTexts;
}

/**
 * The configuration that sources in files make with `inline` over them, as operator-controller merges those of spec.config.valuesFrom.
 * @param paths files with ConfigMaps and Secrets in the order of spec.config.valuesFrom, with `KEY=` before those that are read from another key.
 * @throws Error that says which source is at fault, with nothing of what the sources hold.
 */
export async function configWithSources(
  paths: readonly string[],
  namespace: string,
  inline: JsonObject | undefined,
  terminal: Pick<Terminal, "stdin">,
): Promise<SourcedConfig> {
  const read = (await Promise.all(paths.map((path) => sourcesIn(path, terminal)))).flat();
  const { config, missing, invalid, texts } = mergedConfig(read, namespace, inline);
  if (!config) throw new Error(`invalid ClusterExtension configuration: ${[...invalid, ...missing].join("; ")}`);
  return { config, hidden: new HiddenTexts(texts) };
}

/** A key has no slash in it, and no path is written with one before `=` by those who mean a key. */
const KEYED = /^([-._a-zA-Z0-9]+)=(.+)$/s;

async function sourcesIn(given: string, terminal: Pick<Terminal, "stdin">): Promise<ReadSource[]> {
  const [, key, path = given] = KEYED.exec(given) ?? [];
  try {
    // What the parser quotes of a file that it cannot read may be secret.
    const documents = documentsIn(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
    const objects = documents.flatMap((one) =>
      isObject(one) && one["kind"] === "List" && Array.isArray(one["items"]) ? one["items"] : [one],
    );
    if (objects.length === 0) throw new Error("there is no ConfigMap or Secret in it");
    return objects.map((object) => sourceOf(object, key));
  } catch (err) {
    throw wrapError(`--values-from ${path === "-" ? "standard input" : path}: `, err);
  }
}

function documentsIn(text: string): unknown[] {
  try {
    return parseYamlDocuments(text);
  } catch {
    throw new Error("it is neither YAML nor JSON");
  }
}

function sourceOf(object: unknown, key: string | undefined): ReadSource {
  const { kind, metadata } = isObject(object) ? object : {};
  const name = isObject(metadata) ? metadata["name"] : undefined;
  const source = ValuesSource.safeParse({ kind, name, ...(key === undefined ? {} : { key }) });
  if (!source.success) throw new Error("it holds something else than ConfigMaps and Secrets with names");
  const given = object as KubeObject;
  return { source: source.data, object: kind === "Secret" ? withStringData(given) : given };
}
