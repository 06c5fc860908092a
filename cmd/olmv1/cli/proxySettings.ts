import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { type OperatorProxySettings, parseProxyUrl } from "../../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { getOperatorProxySettings, isProxyConsistent, PROXY_FLAGS } from "../../internal/operatorProxyFlags.ts";
import type { ProxyOptions } from "./options.ts";

/** Parses the proxy options. @throws Error with the name of an invalid option, never with its value. */
export function parseProxySettings(options: ProxyOptions): OperatorProxySettings {
  const flags = {
    "operator-proxy": options.operatorProxy,
    "operator-http-proxy": parseUrlOption("--operator-http-proxy", options.operatorHttpProxy),
    "operator-https-proxy": parseUrlOption("--operator-https-proxy", options.operatorHttpsProxy),
    "operator-no-proxy": options.operatorNoProxy,
  };
  if (!isProxyConsistent(flags)) throw new Error(PROXY_FLAGS);
  return getOperatorProxySettings(flags);
}

function parseUrlOption(name: string, text: string | undefined): string | undefined {
  if (!text) return undefined;
  try {
    return parseProxyUrl(text);
  } catch (err) {
    throw new Error(`${name}: ${getErrorMessage(err)}`, { cause: err });
  }
}
