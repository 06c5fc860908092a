import { expect, test } from "vitest";
import { webhookBundle } from "../../../test/support/webhookBundle.ts";
import type { WebhookCertProvider } from "../../api/flagValues.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import { loadBundle } from "../../bundle/load.ts";
import { CERTIFICATE_PROVIDERS } from "../../certificates/providers.ts";
import type { ApiResource } from "../../kube/discovery.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { renderBundle } from "../../render/render.ts";
import { CertificateProviders } from "./certificateProviders.ts";

/** A client of a cluster that serves these kinds, each in the form "group/version Kind". */
function newClient(kinds: readonly string[]) {
  return {
    resourceFor: ({ apiVersion, kind }: GroupVersionKind): Promise<ApiResource> =>
      kinds.includes(`${apiVersion} ${kind}`)
        ? Promise.resolve({ group: "", version: "v1", resource: "x", kind, namespaced: true, verbs: [] })
        : Promise.reject(new KindNotServed(apiVersion, kind)),
  };
}

const bundle = loadBundle(new Map(Object.entries(webhookBundle("1.0.0")).map(([path, text]) => [path, Buffer.from(text)])));

/** The installed objects of an extension with this provider. */
function installedWith(name: string | undefined): KubeObject[] {
  if (name === undefined) return [];
  const certProvider = CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
  return renderBundle(bundle, { installNamespace: "ns", certProvider });
}

const CERT_MANAGER = ["cert-manager.io/v1 Certificate", "cert-manager.io/v1 Issuer"];
const OPENSHIFT = ["config.openshift.io/v1 ClusterVersion"];

interface Row {
  flag: WebhookCertProvider;
  serves: readonly string[];
  installed?: string;
  chosen: string | undefined;
  outdated?: boolean;
}

test.for<Row>([
  { flag: "auto", serves: CERT_MANAGER, chosen: "cert-manager" },
  { flag: "auto", serves: [...OPENSHIFT, ...CERT_MANAGER], chosen: "cert-manager" },
  { flag: "auto", serves: OPENSHIFT, chosen: "openshift-service-ca" },
  { flag: "auto", serves: ["operator.openshift.io/v1 ServiceCA"], chosen: "openshift-service-ca" },
  { flag: "auto", serves: CERT_MANAGER.slice(1), chosen: "self-signed" },
  { flag: "auto", serves: [], chosen: "self-signed" },
  { flag: "auto", serves: [...CERT_MANAGER, ...OPENSHIFT], installed: "self-signed", chosen: "self-signed" },
  { flag: "self-signed", serves: CERT_MANAGER, chosen: "self-signed" },
  { flag: "auto", serves: CERT_MANAGER, installed: "openshift-service-ca", chosen: "openshift-service-ca" },
  { flag: "auto", serves: OPENSHIFT, installed: "cert-manager", chosen: "cert-manager" },
  { flag: "cert-manager", serves: [], chosen: "cert-manager" },
  { flag: "cert-manager", serves: [], installed: "cert-manager", chosen: "cert-manager" },
  { flag: "cert-manager", serves: [], installed: "openshift-service-ca", chosen: "cert-manager", outdated: true },
  { flag: "none", serves: CERT_MANAGER, chosen: undefined },
  { flag: "none", serves: [], installed: "cert-manager", chosen: undefined, outdated: true },
])(
  "CertificateProviders chooses $chosen when the flag is $flag, the cluster serves $serves and $installed is installed",
  async ({ flag, serves, installed, chosen, outdated }) => {
    const providers = new CertificateProviders(newClient(serves), flag);
    expect((await providers.choose(installedWith(installed)))?.name).toBe(chosen);
    expect(providers.isOutdated(installedWith(installed))).toBe(outdated ?? false);
  },
);

test("CertificateProviders.choose fails instead of choosing another provider when discovery fails", async () => {
  const providers = new CertificateProviders({ resourceFor: () => Promise.reject(new Error("no route")) }, "auto");
  await expect(providers.choose([])).rejects.toThrow("no route");
});
