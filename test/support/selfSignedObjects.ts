import type { KubeObject } from "../../pkg/api/k8s.ts";
import { buildCertificateNames, selfSigned } from "../../pkg/certificates/providers.ts";

/** Creates a Deployment that mounts a serving certificate, and its Service, as rendered with certificate provider `self-signed`. */
export function buildSelfSignedObjects(name: string, namespace: string): KubeObject[] {
  const names = buildCertificateNames(name, namespace);
  const volumes = [{ name: "webhook-cert", secret: { secretName: names.certificateName } }];
  return [
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace }, spec: { template: { spec: { volumes } } } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: names.serviceName, namespace, annotations: { ...selfSigned.annotations("Service", names) } },
    },
  ];
}
