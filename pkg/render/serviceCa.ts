import type { CertificateProvider } from "./certificateProvider.ts";

/**
 * OpenShift's service CA writes the serving certificate of an annotated Service into a Secret and injects its CA.
 * @see https://github.com/openshift/service-ca-operator
 */
export const serviceCa: CertificateProvider = {
  name: "openshift-service-ca",
  annotations: (kind, { certificateName }) =>
    kind === "Service"
      ? { "service.beta.openshift.io/serving-cert-secret-name": certificateName }
      : { "service.beta.openshift.io/inject-cabundle": "true" },
  secret: ({ certificateName }) => ({ secretName: certificateName, certificateKey: "tls.crt", privateKeyKey: "tls.key" }),
  additionalObjects: () => [],
};
