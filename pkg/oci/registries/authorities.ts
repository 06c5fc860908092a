import { X509Certificate } from "node:crypto";
import type { KubeObject } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import { formatOrigin, type Read, type RegistryProblem } from "./registryObjects.ts";
import { formatLocation } from "./scopes.ts";

/** PEM certificates by host of the registry. */
export type RegistryAuthorities = ReadonlyMap<string, readonly string[]>;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const CERTIFICATES_MAX = 1_000;
const PROBLEMS_MAX = 10;

/**
 * Reads certificate authorities from a ConfigMap: each key is a host, or a host and port separated by `..`; each value is one or more certificates in
 * PEM. Ignores values that are not certificates, and reports them without their content.
 * @param ignored a key with another meaning
 * @see https://docs.openshift.com/container-platform/4.17/openshift_images/image-configuration.html additionalTrustedCA
 */
export function readAuthorities(configMap: KubeObject, ignored?: string): Read<RegistryAuthorities> {
  const origin = formatOrigin(configMap);
  const problems: RegistryProblem[] = [];
  const value = new Map<string, readonly string[]>();
  const data = isObject(configMap["data"]) ? configMap["data"] : {};
  let count = 0;
  for (const [key, text] of Object.entries(data)) {
    if (key === ignored) continue;
    const certificates = typeof text === "string" ? parseCertificates(text) : [];
    count += certificates.length;
    if (certificates.length === 0)
      problems.push({ origin, message: `key ${formatLocation(key)} contains no certificate in PEM`, object: configMap });
    else if (count > CERTIFICATES_MAX) {
      problems.push({
        origin,
        message: `it contains more than ${CERTIFICATES_MAX} certificates: the others are ignored`,
        object: configMap,
      });
      break;
    } else value.set(key.replace("..", ":"), certificates);
  }
  return { value, problems: problems.slice(0, PROBLEMS_MAX) };
}

/** Returns the valid certificates in a text. */
function parseCertificates(text: string): string[] {
  return (text.match(CERTIFICATE) ?? []).filter((pem) => {
    try {
      return new X509Certificate(pem).raw.length > 0;
    } catch {
      return false;
    }
  });
}
