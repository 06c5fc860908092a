import type { KubeObject } from "../api/k8s.ts";
import { type CertificateNames, type CertificateProvider, certificateNames } from "./certificateProvider.ts";
import { servingSecrets } from "./certificateVolumes.ts";
import { certManager } from "./certManager.ts";
import { selfSigned } from "./selfSigned.ts";
import { serviceCa } from "./serviceCa.ts";

/** Every certificate provider there is, those that need something of the cluster first. */
export const CERTIFICATE_PROVIDERS: readonly CertificateProvider[] = [certManager, serviceCa, selfSigned];

/**
 * The certificate provider with which rendered, prepared or released objects were made, whoever made them; undefined where nothing serves
 * a webhook. Only what rendering itself writes is looked at: bundles carry hints for certificate providers of their own.
 */
export function providerOf(objects: readonly KubeObject[]): CertificateProvider | undefined {
  return CERTIFICATE_PROVIDERS.find((provider) => providedNames(objects, provider).length > 0);
}

/** The names for every Deployment whose serving certificate is this provider's. */
export function providedNames(objects: readonly KubeObject[], provider: CertificateProvider): CertificateNames[] {
  return servedNames(objects).filter((names) => isMarked(objects, provider, names));
}

/** The names for every Deployment that was given a serving certificate, whoever provides it. */
export function servedNames(objects: readonly KubeObject[]): CertificateNames[] {
  return objects.flatMap((object) => {
    if (object.kind !== "Deployment") return [];
    const names = certificateNames(object.metadata.name, object.metadata.namespace ?? "");
    return servingSecrets(object).includes(names.certificateName) ? [names] : [];
  });
}

/** Whether the Service in front of the deployment, and what stands beside it, are as the provider wants them. */
function isMarked(objects: readonly KubeObject[], provider: CertificateProvider, names: CertificateNames): boolean {
  const hints = Object.entries(provider.annotations("Service", names));
  const service = objects.find(({ kind, metadata }) => kind === "Service" && metadata.name === names.serviceName);
  const others = provider.additionalObjects(names);
  return (
    hints.length + others.length > 0 &&
    hints.every(([key, value]) => service?.metadata.annotations?.[key] === value) &&
    others.every(({ kind, metadata }) => objects.some((object) => object.kind === kind && object.metadata.name === metadata.name))
  );
}
