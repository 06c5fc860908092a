import { ANNOTATION_INJECT_CA_FROM_SECRET } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import { isApiService } from "../bundle/apiServices.ts";
import { isCrd } from "../release/identity.ts";
import { type CaTarget, isConverted } from "./caBundle.ts";
import { type CertificateNames, providedNames, selfSigned } from "./providers.ts";
import { serviceNames } from "./servingCertificate.ts";

/** A serving certificate that operator-controller has to provide. */
export interface WantedCertificate {
  /** Where the Deployment finds it. */
  readonly secret: ObjectRef & { readonly namespace: string };
  /** "service.namespace". */
  readonly host: string;
  /** The names under which the API server and others call the Service. */
  readonly dnsNames: readonly string[];
  /** What is to trust it. */
  readonly targets: readonly CaTarget[];
}

/** The certificates that prepared or released objects need of operator-controller itself; none where another provider makes them. */
export function wantedCertificates(objects: readonly KubeObject[]): WantedCertificate[] {
  return providedNames(objects, selfSigned).map((names) => {
    const { namespace, certificateName: name } = names;
    const host = `${names.serviceName}.${namespace}`;
    return {
      secret: { apiVersion: "v1", kind: "Secret", namespace, name },
      host,
      dnsNames: serviceNames(host),
      targets: objects.flatMap((object) => targetIn(object, names)),
    };
  });
}

/** The Secrets of `wantedCertificates` as objects that have nothing but a name: no release holds more of them. */
export function certificateSecrets(objects: readonly KubeObject[]): KubeObject[] {
  return wantedCertificates(objects).map(({ secret: { apiVersion, kind, namespace, name } }) => ({
    apiVersion,
    kind,
    metadata: { namespace, name },
  }));
}

function targetIn(object: KubeObject, { namespace, certificateName }: CertificateNames): CaTarget[] {
  if (object.metadata.annotations?.[ANNOTATION_INJECT_CA_FROM_SECRET] !== `${namespace}/${certificateName}`) return [];
  const ref = refOf(object);
  if (isApiService(object)) return [{ ref, webhooks: undefined }];
  if (isCrd(object)) return isConverted(object) ? [{ ref, webhooks: undefined }] : [];
  const webhooks = object["webhooks"] as readonly { name: string }[] | undefined;
  return webhooks ? [{ ref, webhooks: webhooks.map(({ name }) => name) }] : [];
}
