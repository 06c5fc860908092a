import { ANNOTATION_INJECT_CA_FROM_SECRET, ANNOTATION_SERVING_CERT_SECRET } from "../api/constants.ts";
import type { CertificateProvider } from "./certificateProvider.ts";

/**
 * operator-controller itself issues the serving certificate, writes it into a Secret and injects its CA, where nothing else on the cluster
 * does. The annotations say so to people and to `pkg/certificates`; rendered objects hold neither key nor CA.
 */
export const selfSigned: CertificateProvider = {
  name: "self-signed",
  annotations: (kind, { namespace, certificateName }) =>
    kind === "Service"
      ? { [ANNOTATION_SERVING_CERT_SECRET]: certificateName }
      : { [ANNOTATION_INJECT_CA_FROM_SECRET]: `${namespace}/${certificateName}` },
  secret: ({ certificateName }) => ({ secretName: certificateName, certificateKey: "tls.crt", privateKeyKey: "tls.key" }),
  additionalObjects: () => [],
};
