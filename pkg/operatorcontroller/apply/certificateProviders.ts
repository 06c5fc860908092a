import type { WebhookCertProvider } from "../../api/flagValues.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import {
  CERTIFICATE_PROVIDERS,
  type CertificateProvider,
  certManager,
  providerOf,
  selfSigned,
  serviceCa,
} from "../../certificates/providers.ts";
import type { Client } from "../../kube/client.ts";
import { resourceOf } from "./preparedObjects.ts";

const CERTIFICATE: GroupVersionKind = { apiVersion: "cert-manager.io/v1", kind: "Certificate" };
const ISSUER: GroupVersionKind = { apiVersion: "cert-manager.io/v1", kind: "Issuer" };
/** Either tells an OpenShift cluster, where the service CA operator is part of every installation. */
const OPENSHIFT: readonly GroupVersionKind[] = [
  { apiVersion: "config.openshift.io/v1", kind: "ClusterVersion" },
  { apiVersion: "operator.openshift.io/v1", kind: "ServiceCA" },
];

/** Chooses the certificate provider for each extension. */
export class CertificateProviders {
  readonly #client: Pick<Client, "resourceFor">;
  readonly #flag: WebhookCertProvider;

  constructor(client: Pick<Client, "resourceFor">, flag: WebhookCertProvider) {
    this.#client = client;
    this.#flag = flag;
  }

  /**
   * The certificate provider for a bundle with webhooks or API services; undefined where there is to be none:
   *
   * | flag     | what is installed                    | provider                                                       |
   * | a name   | anything                             | that one; what is installed is rendered anew with it           |
   * | none     | anything                             | none: such bundles are refused                                 |
   * | auto     | has some of either                   | the one it was rendered with, whatever the cluster serves now  |
   * | auto     | nothing, or nothing with either      | cert-manager where it is served, on OpenShift its service CA, else self-signed |
   *
   * So a provider that appears or goes changes nothing that is installed.
   * @param installed objects of the deployed release, if there is one.
   * @throws KubeError when the cluster does not tell what it serves.
   */
  async choose(installed: readonly KubeObject[]): Promise<CertificateProvider | undefined> {
    if (this.#flag !== "auto") return CERTIFICATE_PROVIDERS.find(({ name }) => name === this.#flag);
    const known = providerOf(installed);
    if (known) return known;
    if ((await this.#isServed(CERTIFICATE)) && (await this.#isServed(ISSUER))) return certManager;
    for (const kind of OPENSHIFT) if (await this.#isServed(kind)) return serviceCa;
    return selfSigned;
  }

  /** Whether objects were rendered with a provider that is not the one to be used now. */
  isOutdated(installed: readonly KubeObject[]): boolean {
    const known = this.#flag === "auto" ? undefined : providerOf(installed);
    return known !== undefined && known.name !== this.#flag;
  }

  async #isServed(gvk: GroupVersionKind): Promise<boolean> {
    return (await resourceOf(this.#client, gvk)) !== undefined;
  }
}
