import { GROUP } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { DeploymentSpec } from "../bundle/types.ts";
import { goQuote } from "../golang/quote.ts";
import { compileSelector, type LabelSelector } from "../resolve/labelSelector.ts";
import { similarName } from "../text/compare.ts";
import { formatList } from "../text/lists.ts";
import { truncate } from "../text/truncate.ts";
import { deploymentConfigSchema } from "./configSchema.ts";
import { deploymentLabels } from "./deploymentConfig.ts";
import type { JsonSchema } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };

/** A field that is accepted and then left out. */
interface IgnoredMember {
  /** Its full path. */
  readonly field: string;
  /** Returns the name that may have been meant. It is compared only when asked for: there may be thousands of such fields. */
  meant(): string | undefined;
}

const REFERENCES: Readonly<Record<string, JsonSchema>> = kubernetes.schemas as Record<string, JsonSchema>;

/**
 * The fields of a deployment configuration that no Go type has: its schema lets them through, and decoding drops them. Letter case does not
 * count, as it does not for Go's decoder.
 * @param config accepted by its schema. @param path of the configuration.
 */
function ignoredMembers(config: unknown, path: string): IgnoredMember[] {
  return membersIn(deploymentConfigSchema(), config, path);
}

function membersIn(schema: JsonSchema, value: unknown, path: string): IgnoredMember[] {
  const { properties, additionalProperties, items } = resolved(schema);
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return items ? value.flatMap((item, index) => membersIn(items, item, `${path}.${index}`)) : [];
  return Object.entries(value).flatMap(([name, member]): IgnoredMember[] => {
    const field = `${path}.${name}`;
    if (typeof additionalProperties === "object") return membersIn(additionalProperties, member, field);
    if (!properties) return [];
    const known = Object.keys(properties);
    const found = known.find((other) => other.toLowerCase() === name.toLowerCase());
    if (found === undefined) return [{ field, meant: () => similarName(name, known) }];
    return membersIn(properties[found] ?? {}, member, field);
  });
}

/** Behind references, and what Kubernetes wraps around them. */
function resolved(schema: JsonSchema): JsonSchema {
  const [only] = schema.allOf ?? [];
  const next = schema.$ref === undefined ? only : REFERENCES[schema.$ref];
  return next ? resolved(next) : schema;
}

/** The members of a configuration that are about Deployments, as they were given. */
interface Given {
  deploymentConfig?: SelectedConfig;
  deploymentConfigs?: SelectedConfig[];
}

interface SelectedConfig {
  selector?: LabelSelector;
}

/** Of the labels that mark objects of a release. */
const OWN_PREFIX = `${GROUP}/`;
/** Deployments that a note names, and the length of a name with its labels. */
const MAX_NAMED = 5;
const MAX_NAME_LENGTH = 200;
/** Fields that are left out of which notes tell. */
const MAX_IGNORED = 5;

/**
 * What of an accepted configuration has no effect, a sentence each: selectors that choose no Deployment, and fields that Kubernetes does not
 * know.
 * @param config as it was given.
 * @param objects rendered, or those of a release; only Deployments are looked at.
 */
export function configNotes(config: unknown, objects: readonly KubeObject[]): string[] {
  const { deploymentConfig, deploymentConfigs = [] } = (config ?? {}) as Given;
  const configs: [path: string, config: SelectedConfig][] = deploymentConfigs.map((each, index) => [`deploymentConfigs.${index}`, each]);
  if (deploymentConfig) configs.unshift(["deploymentConfig", deploymentConfig]);
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  const labels = deployments.map(labelsOf);
  const unused = configs.flatMap(([path, { selector }]): string[] => {
    if (selector === undefined || labels.some(compileSelector(selector).matches)) return [];
    return [
      `${path}.selector of the configuration chooses none of the bundle's Deployments, so nothing comes of it; there are ${named(deployments)}`,
    ];
  });
  const ignored = configs.flatMap(([path, each]) => ignoredMembers(each, path));
  const told = ignored.slice(0, MAX_IGNORED).map((member) => {
    const meant = member.meant();
    const hint = meant === undefined ? "" : `, did you mean ${goQuote(meant)}?`;
    return `field ${goQuote(truncate(member.field, MAX_NAME_LENGTH))} of the configuration is left out, since Kubernetes does not know it${hint}`;
  });
  const more = ignored.length - told.length;
  return [...unused, ...told, ...(more > 0 ? [`and so are ${more} more`] : [])];
}

function named(deployments: readonly KubeObject[]): string {
  if (deployments.length === 0) return "none at all";
  const names = deployments.map((deployment) => {
    const labels = Object.entries(labelsOf(deployment)).map(([key, value]) => `${key}=${value}`);
    return truncate(`${deployment.metadata.name} (${labels.length > 0 ? labels.sort().join(",") : "no labels"})`, MAX_NAME_LENGTH);
  });
  return formatList(names, { max: MAX_NAMED });
}

/** Without those that objects of a release carry as their owner's. */
function labelsOf(deployment: KubeObject): Record<string, string> {
  const labels = Object.entries(deployment.metadata.labels ?? {}).filter(([key]) => !key.startsWith(OWN_PREFIX));
  return deploymentLabels({ label: Object.fromEntries(labels), spec: deployment["spec"] as DeploymentSpec });
}
