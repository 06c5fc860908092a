import { ANNOTATION_INJECT_CA_FROM_SECRET } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { isApiService } from "../bundle/apiServices.ts";
import { isCrd } from "../release/identity.ts";
import { type CaTarget, isConverted } from "./caBundle.ts";
import { type CertificateNames, listProvidedNames, selfSigned } from "./providers.ts";
import { listServiceNames } from "./servingCertificate.ts";

/** A serving certificate that operator-controller must provide. */
export interface DesiredCertificate {
  /** The Secret that the Deployment mounts. */
  readonly secret: ObjectRef & { readonly namespace: string };
  /** "service.namespace". */
  readonly host: string;
  /** The DNS names by which the API server and other clients call the Service. */
  readonly dnsNames: readonly string[];
  /** The objects whose CA bundle must contain the authority of this certificate. */
  readonly targets: readonly CaTarget[];
}

/**
 * Returns the certificates that operator-controller must issue for prepared or released objects;
 * empty if another provider issues them.
 */
export function listDesiredCertificates(objects: readonly KubeObject[]): DesiredCertificate[] {
  return listProvidedNames(objects, selfSigned).map((names) => {
    const { namespace, certificateName: name } = names;
    const host = `${names.serviceName}.${namespace}`;
    return {
      secret: { apiVersion: "v1", kind: "Secret", namespace, name },
      host,
      dnsNames: listServiceNames(host),
      targets: objects.flatMap((object) => findTarget(object, names)),
    };
  });
}

/**
 * Returns the Secrets of `listDesiredCertificates` as objects with only a name, because releases contain
 * only the names of these Secrets.
 */
export function listCertificateSecrets(objects: readonly KubeObject[]): KubeObject[] {
  return listDesiredCertificates(objects).map(({ secret: { apiVersion, kind, namespace, name } }) => ({
    apiVersion,
    kind,
    metadata: { namespace, name },
  }));
}

function findTarget(object: KubeObject, { namespace, certificateName }: CertificateNames): CaTarget[] {
  if (object.metadata.annotations?.[ANNOTATION_INJECT_CA_FROM_SECRET] !== `${namespace}/${certificateName}`) return [];
  const ref = toObjectRef(object);
  if (isApiService(object)) return [{ ref, webhooks: undefined }];
  if (isCrd(object)) return isConverted(object) ? [{ ref, webhooks: undefined }] : [];
  const webhooks = object["webhooks"] as readonly { name: string }[] | undefined;
  return webhooks ? [{ ref, webhooks: webhooks.map(({ name }) => name) }] : [];
}
