import type { OperatorProxyMode } from "../../api/flagValues.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { PROXY_NAMES, type ProxyVariables, readProxyVariables } from "../../api/proxy.ts";
import { waitForAbort } from "../../async/concurrency.ts";
import { type ObjectState, OptionalSetting, type OptionalSettingOptions, type SettingReader } from "../../controller/optionalObject.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";

/** Reads the proxy that operator-controller would set for installed operators. The result is `unknown` if reading the Proxy object is forbidden. */
export async function readClusterProxy(client: Pick<Client, "get">, settings: OperatorProxySettings): Promise<ClusterProxy> {
  const chosen = getFixedProxy(settings);
  if (chosen) return chosen;
  try {
    const object = await client.get(CLUSTER_PROXY);
    return toClusterProxy(object ? { kind: "present", object } : { kind: "absent" });
  } catch (err) {
    return toClusterProxy(err instanceof KindNotServed ? { kind: "notServed" } : { kind: "unreadable", reason: getErrorMessage(err) });
  }
}

/** The object that configures the proxy of an OpenShift cluster. */
export const CLUSTER_PROXY = { apiVersion: "config.openshift.io/v1", kind: "Proxy", name: "cluster" } as const;

/** The settings for the proxy of installed operators. */
export interface OperatorProxySettings {
  mode: OperatorProxyMode;
  /** The proxy variables set by flags. If at least one is set, the cluster's proxy is ignored. */
  given: ProxyVariables;
}

/** The proxy for installed operators. */
export type ClusterProxy =
  | { readonly kind: "none" }
  /** `source` describes where the variables come from: the object or the flags. */
  | { readonly kind: "known"; readonly variables: ProxyVariables; readonly source: string }
  | { readonly kind: "unknown"; readonly reason: string };

/** Returns the current proxy for installed operators. */
export type ClusterProxyReader = SettingReader<ClusterProxy>;

/** A reader that watches the proxy while it runs. */
export interface ClusterProxySource extends ClusterProxyReader {
  /** Watches the proxy until `signal` aborts; never throws. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** The fields of the object's status, by variable. */
const MEMBERS = { HTTP_PROXY: "httpProxy", HTTPS_PROXY: "httpsProxy", NO_PROXY: "noProxy" } as const;

/** Returns the source of the proxy: the settings, or Proxy `cluster` if the settings do not determine the proxy. */
export function newClusterProxySource(
  settings: OperatorProxySettings,
  options: Pick<OptionalSettingOptions<ClusterProxy>, "client" | "log" | "clock">,
): ClusterProxySource {
  const fixed = getFixedProxy(settings);
  if (fixed) return newFixedSource(fixed);
  return new OptionalSetting({ ...options, ref: CLUSTER_PROXY, from: toClusterProxy, describe });
}

/** Returns the proxy that the settings determine; undefined if the cluster's proxy applies. */
function getFixedProxy({ mode, given }: OperatorProxySettings): ClusterProxy | undefined {
  if (mode === "none") return { kind: "none" };
  const variables = readProxyVariables(given);
  return variables && { kind: "known", variables, source: "operator-controller flags" };
}

/** Converts the state of Proxy `cluster`. A proxy that cannot be read is `unknown`, never `none`. */
export function toClusterProxy(state: ObjectState): ClusterProxy {
  if (state.kind === "present") return parseProxy(state.object);
  if (state.kind === "notServed" || state.kind === "absent") return { kind: "none" };
  if (state.kind === "unreadable") return { kind: "unknown", reason: `Proxy "cluster" cannot be read: ${state.reason}` };
  return { kind: "unknown", reason: `Proxy "cluster" has not been read yet${state.reason === undefined ? "" : `: ${state.reason}`}` };
}

/** Reads the status instead of the spec, because the cluster adds exceptions such as its own networks to the status. */
function parseProxy(object: KubeObject): ClusterProxy {
  const status = (object["status"] ?? {}) as Readonly<Record<string, unknown>>;
  const variables = readProxyVariables(Object.fromEntries(PROXY_NAMES.map((name) => [name, status[MEMBERS[name]]])));
  return variables ? { kind: "known", variables, source: 'Proxy "cluster"' } : { kind: "none" };
}

/** Describes a proxy for logs, without values, which may contain passwords. */
function describe(proxy: ClusterProxy): string {
  if (proxy.kind === "known") return PROXY_NAMES.filter((name) => proxy.variables[name]).join(", ");
  return proxy.kind === "none" ? "none" : `unknown: ${proxy.reason}`;
}

function newFixedSource(proxy: ClusterProxy): ClusterProxySource {
  return {
    current: () => proxy,
    onChange: () => undefined,
    synced: Promise.resolve(),
    run: waitForAbort,
  };
}

/**
 * Validates a proxy URL in a flag, and returns it unchanged.
 * @throws Error if the URL is invalid. The message does not contain the URL, which may contain a password.
 */
export function parseProxyUrl(text: string): string {
  const isUrl = /^(https?|socks5h?):\/\/[^\s"/?#]+\/?$/.test(text) && URL.canParse(text);
  if (!isUrl) throw new Error('expected a proxy URL, such as "http://proxy.example.com:3128"');
  return text;
}
