import { Reason, TRUSTED_CA_KEY, TRUSTED_CA_LABEL } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { DNS1123_SUBDOMAIN } from "../api/names.ts";
import type { Container, NamedItem, RegistryV1Bundle } from "../bundle/types.ts";
import { TerminalError } from "../errors/errors.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import type { JsonSchema } from "./jsonSchema.ts";

/** The certificate authorities that an operator is to trust. */
export interface TrustedCa {
  /** ConfigMap of the install namespace that holds them under `ca-bundle.crt`, as PEM. */
  configMapName: string;
  /** Whether it is one of the extension's objects, which OpenShift fills; otherwise it is there, or is waited for. */
  create?: boolean;
}

/** Where images of the RHEL family, and Go programs in any image without a file of its own, look for authorities. */
const MOUNT_PATH = "/etc/pki/ca-trust/extracted/pem";
const FILE = "tls-ca-bundle.pem";
/** Names that nobody else has: bundles often bring a volume called trusted-ca. */
const VOLUME = "olm-trusted-ca";
/** Read by Go and OpenSSL in every image, also in those that keep their authorities elsewhere. */
const FILE_VARIABLE = "SSL_CERT_FILE";

/** How the configuration asks for it. */
export const TRUSTED_CA_SCHEMA: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["configMapName"],
  properties: {
    configMapName: {
      type: "string",
      minLength: 1,
      maxLength: 253,
      pattern: DNS1123_SUBDOMAIN,
    },
    create: { type: "boolean" },
  },
};

/** The volume of a Pod. It is not optional: containers wait until the authorities are there. */
export function trustedCaVolume({ configMapName }: TrustedCa): NamedItem {
  return { name: VOLUME, configMap: { name: configMapName, items: [{ key: TRUSTED_CA_KEY, path: FILE }] } };
}

/**
 * A container with the authorities mounted, in place of whatever it has there, and SSL_CERT_FILE, unless it or the user has that: it may be empty.
 * @param container with all else that the user configures.
 */
export function withTrustedCa(container: Container): Container {
  const { env = [], volumeMounts = [] } = container;
  const variable = env.some(({ name }) => name === FILE_VARIABLE) ? [] : [{ name: FILE_VARIABLE, value: `${MOUNT_PATH}/${FILE}` }];
  const mounts = volumeMounts.filter(({ mountPath }) => !isThere(mountPath));
  return {
    ...container,
    env: [...env, ...variable],
    volumeMounts: [...mounts, { name: VOLUME, readOnly: true, mountPath: MOUNT_PATH }],
  };
}

/** The user's own mount at the same place: both cannot be. Undefined where there is none. */
export function trustedCaFault(config: JsonObject): string | undefined {
  const { trustedCA, volumeMounts = [] } = config as { trustedCA?: TrustedCa; volumeMounts?: readonly { mountPath?: string }[] };
  const taken = trustedCA && volumeMounts.find(({ mountPath }) => isThere(mountPath));
  return (
    taken &&
    `volumeMounts mounts something at ${goQuote(taken.mountPath ?? "")}, where trustedCA mounts the certificate authorities: leave one out`
  );
}

/**
 * The ConfigMaps that extensions own and OpenShift fills, one a name. They have no data: so an apply owns none of it and leaves it as it is.
 * @throws TerminalError InvalidConfiguration where the bundle brings a ConfigMap of that name itself.
 */
export function trustedCaConfigMaps(
  { others }: RegistryV1Bundle,
  { installNamespace, deploymentConfigs }: { installNamespace: string; deploymentConfigs: readonly { trustedCA?: TrustedCa }[] },
): KubeObject[] {
  const names = new Set(deploymentConfigs.flatMap(({ trustedCA }) => created(trustedCA)));
  const brought = others.find(
    ({ apiVersion, kind, metadata }) => apiVersion === "v1" && kind === "ConfigMap" && names.has(metadata?.name ?? ""),
  );
  if (brought)
    throw new TerminalError(
      Reason.InvalidConfiguration,
      `invalid ClusterExtension configuration: the bundle brings ConfigMap ${goQuote(brought.metadata.name)} itself: set trustedCA.create to false, or name another`,
    );
  return [...names].map((name) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: installNamespace, labels: { [TRUSTED_CA_LABEL]: "true" } },
  }));
}

/** Names of the ConfigMaps that a configuration, checked or not, has created, each once. */
export function createdTrustedCas(config: JsonObject | undefined): string[] {
  const { deploymentConfig, deploymentConfigs } = (config ?? {}) as { deploymentConfig?: unknown; deploymentConfigs?: unknown };
  const configs: unknown[] = [deploymentConfig, ...(Array.isArray(deploymentConfigs) ? (deploymentConfigs as unknown[]) : [])];
  return [...new Set(configs.flatMap((each) => (isObject(each) && isObject(each["trustedCA"]) ? created(each["trustedCA"]) : [])))];
}

function created({ create, configMapName }: { create?: unknown; configMapName?: unknown } = {}): string[] {
  return create === true && typeof configMapName === "string" ? [configMapName] : [];
}

function isThere(mountPath = ""): boolean {
  return `${mountPath}/`.replace(/\/+/g, "/").startsWith(`${MOUNT_PATH}/`);
}
