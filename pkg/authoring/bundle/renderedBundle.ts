import { readFile } from "node:fs/promises";
import { ValuesSource } from "../../api/extensionConfig.ts";
import type { WebhookCertProvider } from "../../api/flagValues.ts";
import type { GroupVersionKind, JsonObject, KubeObject } from "../../api/k8s.ts";
import type { ProxyVariables } from "../../api/proxy.ts";
import { legacyCrdFaults } from "../../bundle/legacyCrds.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { CERTIFICATE_PROVIDERS, selfSigned } from "../../certificates/providers.ts";
import { wrapError } from "../../errors/errors.ts";
import { goJson } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import { parseYamlDocuments, toYaml } from "../../golang/yaml.ts";
import { chooseNamespace } from "../../installer/bundlePermissions.ts";
import { knownResource } from "../../rbac/resources.ts";
import { userRoles } from "../../rbac/userRoles.ts";
import { withStringData } from "../../release/cleanObject.ts";
import { installOrder } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import { configNotes } from "../../render/configNotes.ts";
import { mergedConfig, type ReadSource } from "../../render/configSources.ts";
import { HiddenTexts } from "../../render/redaction.ts";
import { renderBundle } from "../../render/render.ts";

/** How a bundle is to be installed. */
export interface RenderRequest {
  /** Default: what the bundle suggests, else its package. */
  namespace?: string | undefined;
  /** `spec.config.inline`. */
  config?: JsonObject | undefined;
  certProvider: WebhookCertProvider;
  /** Variables of the cluster's proxy. */
  proxy?: ProxyVariables | undefined;
  /** Whether `spec.install.userRoles` is Aggregate. */
  aggregateUserRoles: boolean;
}

/** The objects of a bundle in the order in which they are applied, and what there is to say about them. */
export interface BundleRendering {
  objects: KubeObject[];
  notes: string[];
}

/**
 * What operator-controller would apply, without the marks that make it the extension's.
 * @throws Error in operator-controller's words where the bundle or the configuration is refused.
 */
export function renderForInstall(bundle: RegistryV1Bundle, request: RenderRequest): BundleRendering {
  const { namespace: installNamespace = chooseNamespace(bundle), config, proxy, aggregateUserRoles } = request;
  const rendered = renderBundle(bundle, { installNamespace, config, certProvider: providerFor(request.certProvider), proxy });
  const all = aggregateUserRoles ? [...rendered, ...userRoles(rendered)] : rendered;
  const { objects, notes } = prepareObjects(all, { installNamespace, isNamespaced });
  return { objects: installOrder(objects), notes: [...legacyCrdFaults(bundle), ...configNotes(config, rendered), ...notes] };
}

/** As YAML documents, or as JSON on one line: a List. */
export function formatObjects(objects: readonly KubeObject[], format: "yaml" | "json"): string {
  if (format === "yaml") return objects.map((object) => `---\n${toYaml(object)}`).join("");
  return `${goJson({ apiVersion: "v1", kind: "List", items: objects }, { sortKeys: false, escapeHtml: false })}\n`;
}

/** Auto is what it is on a cluster that has neither cert-manager nor OpenShift's service CA. */
function providerFor(name: WebhookCertProvider) {
  return name === "auto" ? selfSigned : CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
}

function isNamespaced(gvk: GroupVersionKind): boolean | undefined {
  return knownResource(gvk)?.namespaced;
}

/** A configuration that is put together from sources. */
export interface ConfigFromFiles {
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
  terminal: { readonly stdin: () => Promise<string> },
): Promise<ConfigFromFiles> {
  const read = (await Promise.all(paths.map((path) => sourcesIn(path, terminal)))).flat();
  const { config, missing, invalid, texts } = mergedConfig(read, namespace, inline);
  if (!config) throw new Error(`invalid ClusterExtension configuration: ${[...invalid, ...missing].join("; ")}`);
  return { config, hidden: new HiddenTexts(texts) };
}

/** A key has no slash in it, and no path is written with one before `=` by those who mean a key. */
const KEYED = /^([-._a-zA-Z0-9]+)=(.+)$/s;

async function sourcesIn(given: string, terminal: { readonly stdin: () => Promise<string> }): Promise<ReadSource[]> {
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
