import { PullSecrets, pullSecretStates, type SecretName } from "../../pkg/controller/pullSecrets.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { readPodIdentity, SERVICE_ACCOUNT_TOKEN } from "../../pkg/kube/tokens.ts";
import { Puller, type PullerOptions } from "../../pkg/oci/pull/puller.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";
import type { Metrics } from "../../pkg/telemetry/metrics.ts";
import { optionalText } from "./flags.ts";

/** Flags about registries that both servers have, to be spread into their flags: catalogs and bundles are pulled in the same way. */
export function imageFlags() {
  return {
    "pull-cas-dir": optionalText().describe("folder of PEM files that sign registries' certificates; read at each pull"),
    "registries-conf": optionalText().describe("path of a registries.conf; default: the system's; read at each pull"),
    "signature-policy": optionalText().describe(
      "path of a policy.json that says which images are taken and whose signatures they need; default: the system's, and any image without one; read at each pull",
    ),
    "global-pull-secret": optionalText().describe(
      "Secret with registry credentials, as <namespace>/<name>; imagePullSecrets of the program's own ServiceAccount come before it",
    ),
    "service-account-token": optionalText().describe(
      `path of the program's ServiceAccount token, which tells the ServiceAccount whose imagePullSecrets are used; default: ${SERVICE_ACCOUNT_TOKEN}`,
    ),
    "auth-file": optionalText().describe(
      "path of a docker config file with registry credentials; pull secrets come before it; read at each pull",
    ),
  };
}

/** What was given for `imageFlags`. */
export interface ImageFlags {
  "pull-cas-dir"?: string | undefined;
  "registries-conf"?: string | undefined;
  "signature-policy"?: string | undefined;
  "global-pull-secret"?: string | undefined;
  "service-account-token"?: string | undefined;
  "auth-file"?: string | undefined;
}

/** Whether the global pull secret, if there is one, has namespace and name. */
export function namesPullSecret(flags: ImageFlags): boolean {
  const name = flags["global-pull-secret"];
  return name === undefined || secretName(name) !== undefined;
}

/** What is wrong otherwise, in catalogd's words. */
export const PULL_SECRET_FORMAT = "value of global-pull-secret should be of the format <namespace>/<name>";

/**
 * The pull secrets that flags and ServiceAccount name; the caller runs them.
 * @throws Error `badly formatted subject: …` when the ServiceAccount token is not one
 */
export async function pullSecretsFor(
  flags: ImageFlags,
  { client, log, metrics }: { client: Client; log: Logger; metrics: Metrics },
): Promise<PullSecrets> {
  const serviceAccount = await readPodIdentity(flags["service-account-token"] ?? SERVICE_ACCOUNT_TOKEN);
  const globalSecret = secretName(flags["global-pull-secret"] ?? "");
  return new PullSecrets({ client, globalSecret, serviceAccount, log, states: pullSecretStates(metrics) });
}

/** Pulls images with these credentials, authorities and mirrors, and through the proxies of the environment. */
export function pullerFor(flags: ImageFlags, options: Pick<PullerOptions, "cacheDir" | "limits" | "log" | "credentials">): Puller {
  return new Puller({
    ...options,
    registriesConf: flags["registries-conf"],
    signaturePolicy: flags["signature-policy"],
    authFile: flags["auth-file"],
    casDir: flags["pull-cas-dir"],
  });
}

function secretName(text: string): SecretName | undefined {
  const [namespace, name, ...more] = text.split("/");
  return namespace && name && more.length === 0 ? { namespace, name } : undefined;
}
