import { GROUP } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { DeploymentSpec } from "../bundle/types.ts";
import { goQuote } from "../golang/quote.ts";
import { compileSelector, type LabelSelector } from "../resolve/labelSelector.ts";
import { findSimilarName } from "../text/compare.ts";
import { formatList } from "../text/lists.ts";
import { truncate } from "../text/truncate.ts";
import { buildDeploymentConfigSchema } from "./configSchema.ts";
import { buildDeploymentLabels } from "./deploymentConfig.ts";
import type { JsonSchema } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };

/** A field that validation accepts but decoding ignores. */
interface IgnoredMember {
  /** Full path of the field. */
  readonly field: string;
  /** Returns a similar known name. Computed on demand, because there can be thousands of such fields. */
  meant(): string | undefined;
}

const REFERENCES: Readonly<Record<string, JsonSchema>> = kubernetes.schemas as Record<string, JsonSchema>;

/**
 * Finds fields of a deployment configuration that the schema accepts but decoding drops, because no Go type contains them. Ignores case, as Go's
 * decoder does.
 * @param config valid according to its schema. @param path of the configuration.
 */
function findIgnoredFields(config: unknown, path: string): IgnoredMember[] {
  return collectIgnored(buildDeploymentConfigSchema(), config, path);
}

function collectIgnored(schema: JsonSchema, value: unknown, path: string): IgnoredMember[] {
  const { properties, additionalProperties, items } = resolveSchema(schema);
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return items ? value.flatMap((item, index) => collectIgnored(items, item, `${path}.${index}`)) : [];
  return Object.entries(value).flatMap(([name, member]): IgnoredMember[] => {
    const field = `${path}.${name}`;
    if (typeof additionalProperties === "object") return collectIgnored(additionalProperties, member, field);
    if (!properties) return [];
    const known = Object.keys(properties);
    const found = known.find((other) => other.toLowerCase() === name.toLowerCase());
    if (found === undefined) return [{ field, meant: () => findSimilarName(name, known) }];
    return collectIgnored(properties[found] ?? {}, member, field);
  });
}

/** Resolves a reference, also inside an `allOf` as in the schemas of Kubernetes. */
function resolveSchema(schema: JsonSchema): JsonSchema {
  const [only] = schema.allOf ?? [];
  const next = schema.$ref === undefined ? only : REFERENCES[schema.$ref];
  return next ? resolveSchema(next) : schema;
}

/** The fields of a configuration for Deployments, unvalidated. */
interface DeploymentFields {
  deploymentConfig?: SelectedConfig;
  deploymentConfigs?: SelectedConfig[];
}

interface SelectedConfig {
  selector?: LabelSelector;
}

/** Prefix of labels of release objects. */
const OWN_PREFIX = `${GROUP}/`;
/** Maximum number of Deployments in a note, and maximum length of a name with labels. */
const MAX_NAMED = 5;
const MAX_NAME_LENGTH = 200;
/** Maximum number of ignored fields that notes list. */
const MAX_IGNORED = 5;

/**
 * Returns a sentence for each part of a valid configuration that has no effect: selectors that match no Deployment, and fields that do not exist in
 * Kubernetes.
 * @param config unchanged configuration.
 * @param objects rendered objects, or the objects of a release. Only Deployments are used.
 */
export function listConfigNotes(config: unknown, objects: readonly KubeObject[]): string[] {
  const { deploymentConfig, deploymentConfigs = [] } = (config ?? {}) as DeploymentFields;
  const configs: [path: string, config: SelectedConfig][] = deploymentConfigs.map((each, index) => [`deploymentConfigs.${index}`, each]);
  if (deploymentConfig) configs.unshift(["deploymentConfig", deploymentConfig]);
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  const labels = deployments.map(getLabels);
  const unused = configs.flatMap(([path, { selector }]): string[] => {
    if (selector === undefined || labels.some(compileSelector(selector).matches)) return [];
    return [
      `${path}.selector in the configuration has no effect: it matches no Deployment in the bundle; existing: ${formatDeployments(deployments)}`,
    ];
  });
  const ignored = configs.flatMap(([path, each]) => findIgnoredFields(each, path));
  const notes = ignored.slice(0, MAX_IGNORED).map((member) => {
    const meant = member.meant();
    const hint = meant === undefined ? "" : `, did you mean ${goQuote(meant)}?`;
    return `field ${goQuote(truncate(member.field, MAX_NAME_LENGTH))} in the configuration is ignored: Kubernetes has no such field${hint}`;
  });
  const more = ignored.length - notes.length;
  return [...unused, ...notes, ...(more > 0 ? [`${more} more fields are ignored`] : [])];
}

function formatDeployments(deployments: readonly KubeObject[]): string {
  if (deployments.length === 0) return "none";
  const names = deployments.map((deployment) => {
    const labels = Object.entries(getLabels(deployment)).map(([key, value]) => `${key}=${value}`);
    return truncate(`${deployment.metadata.name} (${labels.length > 0 ? labels.sort().join(",") : "no labels"})`, MAX_NAME_LENGTH);
  });
  return formatList(names, { max: MAX_NAMED });
}

/** Returns the labels without the labels that are added to release objects. */
function getLabels(deployment: KubeObject): Record<string, string> {
  const labels = Object.entries(deployment.metadata.labels ?? {}).filter(([key]) => !key.startsWith(OWN_PREFIX));
  return buildDeploymentLabels({ label: Object.fromEntries(labels), spec: deployment["spec"] as DeploymentSpec });
}
