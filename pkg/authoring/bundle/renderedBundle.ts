import { readFile } from "node:fs/promises";
import { ValuesSource } from "../../api/extensionConfig.ts";
import type { WebhookCertProvider } from "../../api/flagValues.ts";
import type { GroupVersionKind, JsonObject, KubeObject } from "../../api/k8s.ts";
import type { ProxyVariables } from "../../api/proxy.ts";
import { explainLegacyCrds } from "../../bundle/legacyCrds.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { CERTIFICATE_PROVIDERS, selfSigned } from "../../certificates/providers.ts";
import { wrapError } from "../../errors/errors.ts";
import { encodeGoJson } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import { parseYamlDocuments, toYaml } from "../../golang/yaml.ts";
import { chooseNamespace } from "../../installer/bundlePermissions.ts";
import { findKnownResource } from "../../rbac/resources.ts";
import { buildUserRoles } from "../../rbac/userRoles.ts";
import { withStringData } from "../../release/cleanObject.ts";
import { sortForInstall } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import { listConfigNotes } from "../../render/configNotes.ts";
import { mergeConfig, type ReadSource } from "../../render/configSources.ts";
import { HiddenTexts } from "../../render/redaction.ts";
import { renderBundle } from "../../render/render.ts";

/** Options for rendering a bundle for installation. */
export interface RenderRequest {
  /** Default: the suggested namespace of the bundle, or else its package name. */
  namespace?: string | undefined;
  /** `spec.config.inline`. */
  config?: JsonObject | undefined;
  certProvider: WebhookCertProvider;
  /** Proxy variables of the cluster. */
  proxy?: ProxyVariables | undefined;
  /** Whether `spec.install.userRoles` is Aggregate. */
  aggregateUserRoles: boolean;
}

/** The objects of a bundle, in the order in which they are applied, and notes about them. */
export interface BundleRendering {
  objects: KubeObject[];
  notes: string[];
}

/**
 * Renders the objects that operator-controller would apply, without ownership labels and annotations.
 * @throws the error that operator-controller reports if the bundle or the configuration is invalid.
 */
export function renderForInstall(bundle: RegistryV1Bundle, request: RenderRequest): BundleRendering {
  const { namespace: installNamespace = chooseNamespace(bundle), config, proxy, aggregateUserRoles } = request;
  const rendered = renderBundle(bundle, { installNamespace, config, certProvider: providerFor(request.certProvider), proxy });
  const all = aggregateUserRoles ? [...rendered, ...buildUserRoles(rendered)] : rendered;
  const { objects, notes } = prepareObjects(all, { installNamespace, isNamespaced });
  return { objects: sortForInstall(objects), notes: [...explainLegacyCrds(bundle), ...listConfigNotes(config, rendered), ...notes] };
}

/** Formats objects as YAML documents, or as a List in JSON on one line. */
export function formatObjects(objects: readonly KubeObject[], format: "yaml" | "json"): string {
  if (format === "yaml") return objects.map((object) => `---\n${toYaml(object)}`).join("");
  return `${encodeGoJson({ apiVersion: "v1", kind: "List", items: objects }, { sortKeys: false, escapeHtml: false })}\n`;
}

/**
 * Finds a certificate provider. `auto` selects self-signed certificates, like operator-controller does on a cluster without cert-manager and
 * OpenShift service CA.
 */
function providerFor(name: WebhookCertProvider) {
  return name === "auto" ? selfSigned : CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
}

function isNamespaced(gvk: GroupVersionKind): boolean | undefined {
  return findKnownResource(gvk)?.namespaced;
}

/** A configuration that was merged from sources. */
export interface ConfigFromFiles {
  readonly config: JsonObject;
  /** Values that messages must not contain. */
  readonly hidden: HiddenTexts;
}

/**
 * Merges sources from files and `inline`, like operator-controller merges spec.config.valuesFrom. `inline` has the highest precedence.
 * @param paths files with ConfigMaps and Secrets, in the order of spec.config.valuesFrom. The prefix `KEY=` selects a different key.
 * @throws Error with the name of the invalid source. The message contains no values, because they can be secret.
 */
export async function mergeConfigFiles(
  paths: readonly string[],
  namespace: string,
  inline: JsonObject | undefined,
  terminal: { readonly stdin: () => Promise<string> },
): Promise<ConfigFromFiles> {
  const read = (await Promise.all(paths.map((path) => sourcesIn(path, terminal)))).flat();
  const { config, missing, invalid, texts } = mergeConfig(read, namespace, inline);
  if (!config) throw new Error(`invalid ClusterExtension configuration: ${[...invalid, ...missing].join("; ")}`);
  return { config, hidden: new HiddenTexts(texts) };
}

/** `KEY=PATH`. A key contains no slash, so a path with a slash before `=` does not match. */
const KEYED = /^([-._a-zA-Z0-9]+)=(.+)$/s;

async function sourcesIn(given: string, terminal: { readonly stdin: () => Promise<string> }): Promise<ReadSource[]> {
  const [, key, path = given] = KEYED.exec(given) ?? [];
  try {
    // documentsIn hides the parser error, which can quote secrets.
    const documents = documentsIn(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
    const objects = documents.flatMap((one) =>
      isObject(one) && one["kind"] === "List" && Array.isArray(one["items"]) ? one["items"] : [one],
    );
    if (objects.length === 0) throw new Error("contains no ConfigMap or Secret");
    return objects.map((object) => readSource(object, key));
  } catch (err) {
    throw wrapError(`--values-from ${path === "-" ? "standard input" : path}: `, err);
  }
}

function documentsIn(text: string): unknown[] {
  try {
    return parseYamlDocuments(text);
  } catch {
    throw new Error("not valid YAML or JSON");
  }
}

function readSource(object: unknown, key: string | undefined): ReadSource {
  const { kind, metadata } = isObject(object) ? object : {};
  const name = isObject(metadata) ? metadata["name"] : undefined;
  const source = ValuesSource.safeParse({ kind, name, ...(key === undefined ? {} : { key }) });
  if (!source.success) throw new Error("must contain only ConfigMaps and Secrets with names");
  const given = object as KubeObject;
  return { source: source.data, object: kind === "Secret" ? withStringData(given) : given };
}
