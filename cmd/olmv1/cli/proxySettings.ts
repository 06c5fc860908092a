import { messageOf } from "../../../pkg/errors/errors.ts";
import { type OperatorProxySettings, parseProxyUrl } from "../../../pkg/operatorcontroller/openshift/clusterProxy.ts";
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

function checkedUrl(name: string, text: string | undefined): string | undefined {
  if (!text) return undefined;
  try {
    return parseProxyUrl(text);
  } catch (err) {
    throw new Error(`${name}: ${messageOf(err)}`, { cause: err });
  }
}
