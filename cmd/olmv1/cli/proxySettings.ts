import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { KindNotServed } from "../../../pkg/kube/errors.ts";
import {
  CLUSTER_PROXY,
  type ClusterProxy,
  clusterProxyFrom,
  type OperatorProxySettings,
  parseProxyUrl,
  proxyOfSettings,
} from "../../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { agreesOnProxy, operatorProxySettings, PROXY_FLAGS } from "../../internal/operatorProxyFlags.ts";
import type { ProxyOptions } from "./options.ts";

/** @throws Error that names the option, and never its value. */
export function proxySettingsOf(options: ProxyOptions): OperatorProxySettings {
  const flags = {
    "operator-proxy": options.operatorProxy,
    "operator-http-proxy": checkedUrl("--operator-http-proxy", options.operatorHttpProxy),
    "operator-https-proxy": checkedUrl("--operator-https-proxy", options.operatorHttpsProxy),
    "operator-no-proxy": options.operatorNoProxy,
  };
  if (!agreesOnProxy(flags)) throw new Error(PROXY_FLAGS);
  return operatorProxySettings(flags);
}

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

function checkedUrl(name: string, text: string | undefined): string | undefined {
  if (!text) return undefined;
  try {
    return parseProxyUrl(text);
  } catch (err) {
    throw new Error(`${name}: ${messageOf(err)}`, { cause: err });
  }
}
