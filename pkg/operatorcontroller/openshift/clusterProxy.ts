import type { OperatorProxyMode } from "../../api/flagValues.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { PROXY_NAMES, type ProxyVariables, proxyFrom } from "../../api/proxy.ts";
import { type ObjectState, OptionalSetting, type OptionalSettingOptions, type SettingReader } from "../../controller/optionalObject.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";

/** The proxy that operator-controller would tell installed operators; unknown where the user may not read it. */
export async function readClusterProxy(client: Pick<Client, "get">, settings: OperatorProxySettings): Promise<ClusterProxy> {
  const chosen = proxyOfSettings(settings);
  if (chosen) return chosen;
  try {
    const object = await client.get(CLUSTER_PROXY);
    return clusterProxyFrom(object ? { kind: "present", object } : { kind: "absent" });
  } catch (err) {
    return clusterProxyFrom(err instanceof KindNotServed ? { kind: "notServed" } : { kind: "unreadable", because: messageOf(err) });
  }
}

/** The object that says which proxy an OpenShift cluster has. */
export const CLUSTER_PROXY = { apiVersion: "config.openshift.io/v1", kind: "Proxy", name: "cluster" } as const;

/** How the proxy of installed operators is chosen. */
export interface OperatorProxySettings {
  mode: OperatorProxyMode;
  /** Given by flags; where there are any, they are all, and the cluster is not asked. */
  given: ProxyVariables;
}

/** The proxy that installed operators are to use. */
export type ClusterProxy =
  | { readonly kind: "none" }
  /** `source` says where it was read. */
  | { readonly kind: "known"; readonly variables: ProxyVariables; readonly source: string }
  | { readonly kind: "unknown"; readonly because: string };

/** What is read of that proxy, whoever reads it. */
export type ClusterProxyReader = SettingReader<ClusterProxy>;

/** A reader that has to run to read. */
export interface ClusterProxySource extends ClusterProxyReader {
  /** Follows until `signal` aborts; never throws. Call once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Members of the object's status, and the variables that they are. */
const MEMBERS = { HTTP_PROXY: "httpProxy", HTTPS_PROXY: "httpsProxy", NO_PROXY: "noProxy" } as const;

/** The proxy as the settings choose it; Proxy `cluster` is followed where they leave it to the cluster. */
export function clusterProxySource(
  settings: OperatorProxySettings,
  options: Pick<OptionalSettingOptions<ClusterProxy>, "client" | "log" | "clock">,
): ClusterProxySource {
  const fixed = proxyOfSettings(settings);
  if (fixed) return fixedSource(fixed);
  return new OptionalSetting({ ...options, ref: CLUSTER_PROXY, from: clusterProxyFrom, describe });
}

/** What the settings alone say; undefined where they leave it to the cluster. */
function proxyOfSettings({ mode, given }: OperatorProxySettings): ClusterProxy | undefined {
  if (mode === "none") return { kind: "none" };
  const variables = proxyFrom(given);
  return variables && { kind: "known", variables, source: "flags of operator-controller" };
}

/** What the state of Proxy `cluster` says. A proxy that there may be and that cannot be read is `unknown`, never `none`. */
export function clusterProxyFrom(state: ObjectState): ClusterProxy {
  if (state.kind === "present") return proxyIn(state.object);
  if (state.kind === "notServed" || state.kind === "absent") return { kind: "none" };
  if (state.kind === "unreadable") return { kind: "unknown", because: `Proxy "cluster" cannot be read: ${state.because}` };
  return { kind: "unknown", because: `Proxy "cluster" has not been read yet${state.because === undefined ? "" : `: ${state.because}`}` };
}

/** Status and not spec: there the cluster has added what must never go through a proxy, such as its own networks. */
function proxyIn(object: KubeObject): ClusterProxy {
  const status = (object["status"] ?? {}) as Readonly<Record<string, unknown>>;
  const variables = proxyFrom(Object.fromEntries(PROXY_NAMES.map((name) => [name, status[MEMBERS[name]]])));
  return variables ? { kind: "known", variables, source: 'Proxy "cluster"' } : { kind: "none" };
}

/** Values may hold passwords. */
function describe(proxy: ClusterProxy): string {
  if (proxy.kind === "known") return PROXY_NAMES.filter((name) => proxy.variables[name]).join(", ");
  return proxy.kind === "none" ? "none" : `unknown: ${proxy.because}`;
}

function fixedSource(proxy: ClusterProxy): ClusterProxySource {
  return {
    current: () => proxy,
    onChange: () => undefined,
    synced: Promise.resolve(),
    run: (signal) =>
      new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true }))),
  };
}

/**
 * A proxy's URL as a flag writes it, unchanged.
 * @throws Error without the text, which may hold a password.
 */
export function parseProxyUrl(text: string): string {
  const isUrl = /^(https?|socks5h?):\/\/[^\s"/?#]+\/?$/.test(text) && URL.canParse(text);
  if (!isUrl) throw new Error('want the URL of a proxy, such as "http://proxy.example.com:3128"');
  return text;
}
