import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { thingDefinition } from "./definitions.ts";
import { eventually } from "./eventually.ts";

/** Creates the definitions of the kinds of cert-manager that certificates need, without its controller, and waits until they are served. */
export async function installCertManagerKinds(client: Client): Promise<void> {
  for (const kind of ["Certificate", "Issuer"] as const) {
    await client.create(certManagerKind(kind));
    await eventually(() => client.list({ apiVersion: "cert-manager.io/v1", kind }));
  }
}

function certManagerKind(kind: "Certificate" | "Issuer"): KubeObject {
  const crd = thingDefinition("cert-manager.io");
  const plural = `${kind.toLowerCase()}s`;
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  return { ...crd, metadata: { name: `${plural}.cert-manager.io` }, spec: { ...(crd["spec"] as object), names } };
}
