import type { JsonObject } from "./k8s.ts";

/** The variables by which programs find their proxy, in the order in which they are set. */
export const PROXY_NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;

/** The proxy variables of a cluster; one that has no value is absent. */
export type ProxyVariables = Readonly<Partial<Record<(typeof PROXY_NAMES)[number], string>>>;

const NAMES: ReadonlySet<string> = new Set(PROXY_NAMES.flatMap((name) => [name, name.toLowerCase()]));

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

/** Whether an environment variable, checked or not, is one of the three, in either case. */
export function isProxyVariable(variable: unknown): boolean {
  const { name } = (variable ?? {}) as { name?: unknown };
  return typeof name === "string" && NAMES.has(name);
}
