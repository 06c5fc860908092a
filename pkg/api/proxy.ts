import type { DeploymentConfig } from "../render/config.ts";
import { type DeploymentContent, withDeploymentConfig } from "../render/deploymentConfig.ts";
import type { JsonObject } from "./k8s.ts";

/** The variables by which programs find their proxy, in the order in which they are set. */
export const PROXY_NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;

/** The proxy variables of a cluster; one that has no value is absent. */
export type ProxyVariables = Readonly<Partial<Record<(typeof PROXY_NAMES)[number], string>>>;

const NAMES: ReadonlySet<string> = new Set(PROXY_NAMES.flatMap((name) => [name, name.toLowerCase()]));

/**
 * A Deployment with the cluster's proxy variables in every container, in place of what the bundle says; init containers are left alone:
 *
 * | the user's env for it                                        | variables of the cluster |
 * | names none of the three                                      | all that have a value    |
 * | names one of the three, in either case, with a value or not  | none                     |
 *
 * @param configs the user's for this Deployment, which `content` has already.
 * @see operator-lifecycle-manager pkg/controller/operators/olm/overrides/initializer.go
 */
export function withProxy(
  content: DeploymentContent,
  configs: readonly DeploymentConfig[],
  proxy: ProxyVariables | undefined,
): DeploymentContent {
  if (!proxy || configs.some(({ env }) => env?.some(isProxyVariable))) return content;
  const env = PROXY_NAMES.flatMap((name) => (proxy[name] ? [{ name, value: proxy[name] }] : []));
  return env.length === 0 ? content : withDeploymentConfig(content, { env });
}

/** Whether a configuration, checked or not, names one of the three variables for all Deployments: the cluster's are not used then. */
export function overridesProxy(config: JsonObject | undefined): boolean {
  const { env, selector } = (config?.["deploymentConfig"] ?? {}) as { env?: unknown; selector?: unknown };
  return selector === undefined && Array.isArray(env) && env.some(isProxyVariable);
}

/** Variables as they were written down; undefined where `value` holds none. */
export function proxyFrom(value: unknown): ProxyVariables | undefined {
  const given = (value ?? {}) as Readonly<Record<string, unknown>>;
  const variables = PROXY_NAMES.flatMap((name) => (typeof given[name] === "string" && given[name] !== "" ? [[name, given[name]]] : []));
  return variables.length === 0 ? undefined : (Object.fromEntries(variables) as ProxyVariables);
}

function isProxyVariable(variable: unknown): boolean {
  const { name } = (variable ?? {}) as { name?: unknown };
  return typeof name === "string" && NAMES.has(name);
}
