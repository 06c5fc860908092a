import { type Command, Option } from "commander";
import { OPERATOR_PROXY_MODES, type OperatorProxyMode } from "../../../pkg/operatorcontroller/proxy/proxyModes.ts";
import { OPERATOR_PROXY_HELP } from "../../operatorProxyHelp.ts";

/** The proxy flags of operator-controller, for a command that does as it does. */
export interface ProxyOptions {
  operatorProxy: OperatorProxyMode;
  operatorHttpProxy?: string;
  operatorHttpsProxy?: string;
  operatorNoProxy?: string;
}

/** Adds the options of `ProxyOptions` to a command. */
export function addProxyOptions(command: Command): Command {
  return command
    .addOption(new Option("--operator-proxy <mode>", OPERATOR_PROXY_HELP["operator-proxy"]).choices(OPERATOR_PROXY_MODES).default("auto"))
    .option("--operator-http-proxy <url>", OPERATOR_PROXY_HELP["operator-http-proxy"])
    .option("--operator-https-proxy <url>", OPERATOR_PROXY_HELP["operator-https-proxy"])
    .option("--operator-no-proxy <hosts>", OPERATOR_PROXY_HELP["operator-no-proxy"]);
}
