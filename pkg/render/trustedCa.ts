import { Reason, TRUSTED_CA_KEY, TRUSTED_CA_LABEL } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { DNS1123_SUBDOMAIN } from "../api/names.ts";
import type { Container, NamedItem, RegistryV1Bundle } from "../bundle/types.ts";
import { TerminalError } from "../errors/errors.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import type { JsonSchema } from "./jsonSchema.ts";

/** The certificate authorities that an operator must trust. */
export interface TrustedCa {
  /** ConfigMap in the install namespace with PEM certificates in key `ca-bundle.crt`. */
  configMapName: string;
  /** Whether the extension creates the ConfigMap for OpenShift to fill. Otherwise it must exist. */
  create?: boolean;
}

/** Path of the CA certificates in images of the RHEL family. Go programs also read it in images without a CA file. */
const MOUNT_PATH = "/etc/pki/ca-trust/extracted/pem";
const FILE = "tls-ca-bundle.pem";
/** Unique name, because bundles often have a volume named trusted-ca. */
const VOLUME = "olm-trusted-ca";
/** Variable that Go and OpenSSL read in all images, including images with CA certificates at another path. */
const FILE_VARIABLE = "SSL_CERT_FILE";

/** Schema of `trustedCA` in the configuration. */
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

/** Returns the volume of a Pod. It is not optional, so that containers wait until the ConfigMap exists. */
export function buildTrustedCaVolume({ configMapName }: TrustedCa): NamedItem {
  return { name: VOLUME, configMap: { name: configMapName, items: [{ key: TRUSTED_CA_KEY, path: FILE }] } };
}

/**
 * Mounts the CA certificates in a container, replacing other mounts at the same path. Sets SSL_CERT_FILE unless the container already has the
 * variable, even with an empty value.
 * @param container container after all other changes of the user.
 */
export function withTrustedCa(container: Container): Container {
  const { env = [], volumeMounts = [] } = container;
  const variable = env.some(({ name }) => name === FILE_VARIABLE) ? [] : [{ name: FILE_VARIABLE, value: `${MOUNT_PATH}/${FILE}` }];
  const mounts = volumeMounts.filter(({ mountPath }) => !isInMountPath(mountPath));
  return {
    ...container,
    env: [...env, ...variable],
    volumeMounts: [...mounts, { name: VOLUME, readOnly: true, mountPath: MOUNT_PATH }],
  };
}

/** Returns an error if the configuration contains a mount at the same path; otherwise undefined. */
export function findTrustedCaFault(config: JsonObject): string | undefined {
  const { trustedCA, volumeMounts = [] } = config as { trustedCA?: TrustedCa; volumeMounts?: readonly { mountPath?: string }[] };
  const taken = trustedCA && volumeMounts.find(({ mountPath }) => isInMountPath(mountPath));
  return (
    taken && `volumeMounts has a mount at ${goQuote(taken.mountPath ?? "")}, where trustedCA mounts the CA certificates: remove one of them`
  );
}

/**
 * Returns the ConfigMaps that the extension creates and OpenShift fills, one for each name. They have no data, so that the extension does not own the
 * data.
 * @throws TerminalError InvalidConfiguration if the bundle contains a ConfigMap with that name.
 */
export function buildTrustedCaConfigMaps(
  { others }: RegistryV1Bundle,
  { installNamespace, deploymentConfigs }: { installNamespace: string; deploymentConfigs: readonly { trustedCA?: TrustedCa }[] },
): KubeObject[] {
  const names = new Set(deploymentConfigs.flatMap(({ trustedCA }) => createdNames(trustedCA)));
  const existing = others.find(
    ({ apiVersion, kind, metadata }) => apiVersion === "v1" && kind === "ConfigMap" && names.has(metadata?.name ?? ""),
  );
  if (existing)
    throw new TerminalError(
      Reason.InvalidConfiguration,
      `invalid ClusterExtension configuration: the bundle contains ConfigMap ${goQuote(existing.metadata.name)}: set trustedCA.create to false, or use another name`,
    );
  return [...names].map((name) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: installNamespace, labels: { [TRUSTED_CA_LABEL]: "true" } },
  }));
}

/** Returns the distinct names of the ConfigMaps that a configuration creates. The configuration does not need to be valid. */
export function listCreatedTrustedCas(config: JsonObject | undefined): string[] {
  const { deploymentConfig, deploymentConfigs } = (config ?? {}) as { deploymentConfig?: unknown; deploymentConfigs?: unknown };
  const configs: unknown[] = [deploymentConfig, ...(Array.isArray(deploymentConfigs) ? (deploymentConfigs as unknown[]) : [])];
  return [...new Set(configs.flatMap((each) => (isObject(each) && isObject(each["trustedCA"]) ? createdNames(each["trustedCA"]) : [])))];
}

function createdNames({ create, configMapName }: { create?: unknown; configMapName?: unknown } = {}): string[] {
  return create === true && typeof configMapName === "string" ? [configMapName] : [];
}

function isInMountPath(mountPath = ""): boolean {
  return `${mountPath}/`.replace(/\/+/g, "/").startsWith(`${MOUNT_PATH}/`);
}
