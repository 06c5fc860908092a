import * as z from "zod";
import { REGISTRIES_CONFIG_MAP } from "../../pkg/api/constants.ts";
import { ClusterImagePolicies } from "../../pkg/controller/clusterImagePolicies.ts";
import { ClusterRegistries } from "../../pkg/controller/clusterRegistries.ts";
import { createPullSecretGauge, PullSecrets, type SecretName } from "../../pkg/controller/pullSecrets.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { readPodIdentity, SERVICE_ACCOUNT_TOKEN } from "../../pkg/kube/tokens.ts";
import { Puller, type PullerOptions } from "../../pkg/oci/pull/puller.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";
import type { Metrics } from "../../pkg/telemetry/metrics.ts";
import { optionalText } from "./flags.ts";

/** Registry flags of all servers, to spread into their flags, because all pull images in the same way. */
export function registryFlags() {
  return {
    "pull-cas-dir": optionalText().describe("folder of PEM files with CA certificates for registries; read for each pull"),
    "registries-conf": optionalText().describe("path of a registries.conf; read for each pull (default: the system's registries.conf)"),
    "signature-policy": optionalText().describe(
      "path of a policy.json with the accepted images and signatures; read for each pull; without a policy, all images are accepted (default: the system's policy.json)",
    ),
    "auth-file": optionalText().describe(
      "path of a docker config file with registry credentials; pull secrets take precedence; read for each pull",
    ),
  };
}

/** Flags of the servers that follow the registry settings of the cluster. */
export function clusterRegistryFlags() {
  return {
    "registries-configmap": z
      .string()
      .default(REGISTRIES_CONFIG_MAP)
      .describe(
        'ConfigMap in the system namespace with registries.conf and certificate authorities; followed if it exists; files take precedence; "" disables it',
      ),
  };
}

/** The flag for a pull secret of the cluster. @param others the credentials that take precedence, for its help */
export function globalPullSecretFlag(others = "") {
  return {
    "global-pull-secret": optionalText().describe(
      `Secret with registry credentials, as <namespace>/<name>${others === "" ? "" : `; ${others} take precedence`}`,
    ),
  };
}

/** Registry flags of catalogd and operator-controller, which also read the pull secrets of their ServiceAccounts from the API server. */
export function imageFlags() {
  return {
    ...registryFlags(),
    ...clusterRegistryFlags(),
    ...globalPullSecretFlag("imagePullSecrets of the server's ServiceAccount"),
    "service-account-token": optionalText().describe(
      `token file of the ServiceAccount whose imagePullSecrets are used (default: ${SERVICE_ACCOUNT_TOKEN})`,
    ),
  };
}

/** The values of `registryFlags`. */
export interface RegistryFlags {
  "pull-cas-dir"?: string | undefined;
  "registries-conf"?: string | undefined;
  "signature-policy"?: string | undefined;
  "auth-file"?: string | undefined;
}

/** The values of `clusterRegistryFlags`, and the system namespace. */
interface ClusterRegistryFlags {
  "registries-configmap": string;
  "system-namespace": string;
}

/** The values of `imageFlags`. */
export interface ImageFlags extends RegistryFlags {
  "global-pull-secret"?: string | undefined;
  "service-account-token"?: string | undefined;
}

/** Returns whether the global pull secret, if set, has a namespace and a name. */
export function hasPullSecret(flags: Pick<ImageFlags, "global-pull-secret">): boolean {
  const name = flags["global-pull-secret"];
  return name === undefined || secretName(name) !== undefined;
}

/** The error unless `hasPullSecret`, with the text of catalogd. */
export const PULL_SECRET_FORMAT = "value of global-pull-secret should be of the format <namespace>/<name>";

/** Returns the global pull secret, without the pull secrets of a ServiceAccount. The caller must run it to follow changes. */
export function createGlobalPullSecret(
  flags: Pick<ImageFlags, "global-pull-secret">,
  { client, log, metrics }: { client: Client; log: Logger; metrics: Metrics },
): PullSecrets {
  const globalSecret = secretName(flags["global-pull-secret"] ?? "");
  return new PullSecrets({ client, globalSecret, serviceAccount: undefined, log, states: createPullSecretGauge(metrics) });
}

/**
 * Returns the pull secrets that the flags and the ServiceAccount select. The caller must run them to follow changes.
 * @throws Error `badly formatted subject: …` if the ServiceAccount token is invalid
 */
export async function createPullSecrets(
  flags: ImageFlags,
  { client, log, metrics }: { client: Client; log: Logger; metrics: Metrics },
): Promise<PullSecrets> {
  const serviceAccount = await readPodIdentity(flags["service-account-token"] ?? SERVICE_ACCOUNT_TOKEN);
  const globalSecret = secretName(flags["global-pull-secret"] ?? "");
  return new PullSecrets({ client, globalSecret, serviceAccount, log, states: createPullSecretGauge(metrics) });
}

/** The credentials, limits and cache of a server's images. */
interface ImageSourcesOptions extends Pick<PullerOptions, "cacheDir" | "limits"> {
  readonly client: Client;
  readonly credentials: PullSecrets;
  /** Whether ImagePolicies apply too, because the images belong to extensions in a namespace. */
  readonly namespaced: boolean;
  readonly log: Logger;
}

/** How a server gets images: with its credentials, and as the flags, the environment, and the registry settings and image policies of the cluster require. */
export class ImageSources {
  readonly puller: Puller;
  readonly registries: ClusterRegistries;
  readonly #credentials: PullSecrets;
  readonly #policies: ClusterImagePolicies;

  constructor(flags: RegistryFlags & ClusterRegistryFlags, options: ImageSourcesOptions) {
    const { "registries-configmap": name, "system-namespace": namespace } = flags;
    const { client, credentials, cacheDir, limits, namespaced, log } = options;
    this.#credentials = credentials;
    this.registries = new ClusterRegistries({ client, configMap: name === "" ? undefined : { namespace, name }, log });
    this.#policies = new ClusterImagePolicies({ client, namespaced, log });
    this.puller = new Puller({
      cacheDir,
      limits,
      log,
      credentials,
      cluster: this.registries,
      imagePolicies: this.#policies,
      registriesConf: flags["registries-conf"],
      signaturePolicy: flags["signature-policy"],
      authFile: flags["auth-file"],
      casDir: flags["pull-cas-dir"],
    });
  }

  /** The watches to run, which follow changes in the cluster. */
  get tasks(): Record<"pullSecrets" | "registries" | "imagePolicies", (signal: AbortSignal) => Promise<void>> {
    return {
      pullSecrets: (signal) => this.#credentials.run(signal),
      registries: (signal) => this.registries.run(signal),
      imagePolicies: (signal) => this.#policies.run(signal),
    };
  }

  /** Calls `listener` after each change that may let a rejected image be pulled. */
  onChange(listener: () => void): void {
    for (const source of [this.#credentials, this.registries, this.#policies]) source.onChange(listener);
  }
}

function secretName(text: string): SecretName | undefined {
  const [namespace, name, ...more] = text.split("/");
  return namespace && name && more.length === 0 ? { namespace, name } : undefined;
}
