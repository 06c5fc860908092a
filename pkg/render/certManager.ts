import type { KubeObject } from "../api/k8s.ts";
import type { CertificateNames, CertificateProvider } from "./certificateProvider.ts";
import { objectName } from "./names.ts";

const API_VERSION = "cert-manager.io/v1";
const TWO_YEARS = "17520h0m0s";
const ONE_DAY = "24h0m0s";

/**
 * cert-manager issues one self-signed certificate for each deployment with webhooks or API services and injects its CA.
 * @see https://cert-manager.io/docs/concepts/ca-injector/
 */
export const certManager: CertificateProvider = {
  name: "cert-manager",
  annotations: (kind, { namespace, certificateName }) =>
    kind === "Service" ? {} : { "cert-manager.io/inject-ca-from": `${namespace}/${certificateName}` },
  secret: ({ certificateName }) => ({ secretName: certificateName, certificateKey: "tls.crt", privateKeyKey: "tls.key" }),
  additionalObjects: (names) => [issuer(names), certificate(names)],
};

function issuerName({ certificateName }: CertificateNames): string {
  return objectName(certificateName, "selfsigned-issuer");
}

function issuer(names: CertificateNames): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "Issuer",
    metadata: { name: issuerName(names), namespace: names.namespace },
    spec: { selfSigned: {} },
    status: {},
  };
}

function certificate(names: CertificateNames): KubeObject {
  const { serviceName, certificateName, namespace } = names;
  const host = `${serviceName}.${namespace}`;
  return {
    apiVersion: API_VERSION,
    kind: "Certificate",
    metadata: { name: certificateName, namespace },
    spec: {
      commonName: host,
      dnsNames: [host, `${host}.svc`, `${host}.svc.cluster.local`],
      duration: TWO_YEARS,
      issuerRef: { name: issuerName(names) },
      renewBefore: ONE_DAY,
      secretName: certificateName,
      usages: ["server auth"],
    },
    status: {},
  };
}
