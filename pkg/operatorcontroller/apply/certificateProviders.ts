import type { WebhookCertProvider } from "../../api/flagValues.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import {
  CERTIFICATE_PROVIDERS,
  type CertificateProvider,
  certManager,
  findProvider,
  selfSigned,
  serviceCa,
} from "../../certificates/providers.ts";
import type { Client } from "../../kube/client.ts";
import { findResource } from "./preparedObjects.ts";

const CERTIFICATE: GroupVersionKind = { apiVersion: "cert-manager.io/v1", kind: "Certificate" };
const ISSUER: GroupVersionKind = { apiVersion: "cert-manager.io/v1", kind: "Issuer" };
/** Each of these kinds identifies an OpenShift cluster, which always runs the service CA operator. */
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
   * Chooses the certificate provider for a bundle with webhooks or API services; undefined if there is none:
   *
   * | flag   | installed bundle                    | provider                                                             |
   * | a name | any                                 | that provider; the installed bundle is rendered again                |
   * | none   | any                                 | none: such bundles are rejected                                      |
   * | auto   | with webhooks or API services       | its current provider, regardless of what the cluster serves now      |
   * | auto   | none, or without webhooks and API services | cert-manager if it is served, else the service CA on OpenShift, else self-signed |
   *
   * With auto, installed bundles do not change when the cluster starts or stops serving a provider.
   * @param installed objects of the deployed release, if there is one.
   * @throws KubeError if discovery fails.
   */
  choose(installed: readonly KubeObject[]): Promise<CertificateProvider | undefined> {
    return this.chooseAfter(findProvider(installed)?.name);
  }

  /**
   * Chooses like `choose` for an installed bundle whose provider is known.
   * @param current name of the provider; undefined for a bundle without webhooks and API services
   * @throws KubeError if discovery fails.
   */
  async chooseAfter(current: string | undefined): Promise<CertificateProvider | undefined> {
    const find = (wanted: string): CertificateProvider | undefined => CERTIFICATE_PROVIDERS.find(({ name }) => name === wanted);
    if (this.#flag !== "auto") return find(this.#flag);
    const known = current === undefined ? undefined : find(current);
    if (known) return known;
    if ((await this.#isServed(CERTIFICATE)) && (await this.#isServed(ISSUER))) return certManager;
    for (const kind of OPENSHIFT) if (await this.#isServed(kind)) return serviceCa;
    return selfSigned;
  }

  /** Reports whether objects were rendered with a provider other than the one that the flag selects. */
  isOutdated(installed: readonly KubeObject[]): boolean {
    const known = this.#flag === "auto" ? undefined : findProvider(installed);
    return known !== undefined && known.name !== this.#flag;
  }

  async #isServed(gvk: GroupVersionKind): Promise<boolean> {
    return (await findResource(this.#client, gvk)) !== undefined;
  }
}
