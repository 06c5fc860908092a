import * as z from "zod";
import { OPERATOR_PROXY_HELP, OPERATOR_PROXY_MODES } from "../../pkg/api/flagValues.ts";
import { readProxyVariables } from "../../pkg/api/proxy.ts";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { type OperatorProxySettings, parseProxyUrl } from "../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { optionalText } from "./flags.ts";

/** Values of the flags for the proxy of installed operators. */
export interface OperatorProxyFlags {
  "operator-proxy": OperatorProxySettings["mode"];
  "operator-http-proxy"?: string | undefined;
  "operator-https-proxy"?: string | undefined;
  "operator-no-proxy"?: string | undefined;
}

/** Returns schemas for these flags, to spread into the flags of a server. */
export function operatorProxyFlags() {
  return {
    "operator-proxy": z.enum(OPERATOR_PROXY_MODES).default("auto").describe(OPERATOR_PROXY_HELP["operator-proxy"]),
    "operator-http-proxy": proxyUrl().describe(OPERATOR_PROXY_HELP["operator-http-proxy"]),
    "operator-https-proxy": proxyUrl().describe(OPERATOR_PROXY_HELP["operator-https-proxy"]),
    "operator-no-proxy": optionalText().describe(OPERATOR_PROXY_HELP["operator-no-proxy"]),
  };
}

/** Returns whether the proxy flags are consistent: no proxy is set with operator-proxy=none. */
export function isProxyConsistent(flags: OperatorProxyFlags): boolean {
  return flags["operator-proxy"] !== "none" || readProxyVariables(getOperatorProxySettings(flags).given) === undefined;
}

/** The error unless `isProxyConsistent`. */
export const PROXY_FLAGS = "operator-http-proxy, operator-https-proxy and operator-no-proxy have no effect with operator-proxy=none";

/** Returns the proxy settings in the flags. */
export function getOperatorProxySettings(flags: OperatorProxyFlags): OperatorProxySettings {
  const given = readProxyVariables({
    HTTP_PROXY: flags["operator-http-proxy"],
    HTTPS_PROXY: flags["operator-https-proxy"],
    NO_PROXY: flags["operator-no-proxy"],
  });
  return { mode: flags["operator-proxy"], given: given ?? {} };
}

function proxyUrl() {
  return z
    .string()
    .transform((text, context) => {
      try {
        return text === "" ? undefined : parseProxyUrl(text);
      } catch (err) {
        context.addIssue({ code: "custom", message: getErrorMessage(err) });
        return z.NEVER;
      }
    })
    .optional();
}
