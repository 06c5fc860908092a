import type { JsonObject } from "./k8s.ts";

/** Environment variables for proxies, in the order in which they are set. */
export const PROXY_NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;

/** Proxy variables with their values; variables without a value are absent. */
export type ProxyVariables = Readonly<Partial<Record<(typeof PROXY_NAMES)[number], string>>>;

const NAMES: ReadonlySet<string> = new Set(PROXY_NAMES.flatMap((name) => [name, name.toLowerCase()]));

/** Returns whether a configuration, validated or not, sets a proxy variable for all Deployments. In that case the cluster proxy is ignored. */
export function overridesProxy(config: JsonObject | undefined): boolean {
  const { env, selector } = (config?.["deploymentConfig"] ?? {}) as { env?: unknown; selector?: unknown };
  return selector === undefined && Array.isArray(env) && env.some(isProxyVariable);
}

/** Reads proxy variables from an object; undefined if it has none. */
export function readProxyVariables(value: unknown): ProxyVariables | undefined {
  const given = (value ?? {}) as Readonly<Record<string, unknown>>;
  const variables = PROXY_NAMES.flatMap((name) => (typeof given[name] === "string" && given[name] !== "" ? [[name, given[name]]] : []));
  return variables.length === 0 ? undefined : (Object.fromEntries(variables) as ProxyVariables);
}

/** Returns whether an environment variable, validated or not, is a proxy variable, in upper or lower case. */
export function isProxyVariable(variable: unknown): boolean {
  const { name } = (variable ?? {}) as { name?: unknown };
  return typeof name === "string" && NAMES.has(name);
}
