import type { KeyPair } from "./certificates.ts";

/** What a kubeconfig says: where the API server is, whom to trust and who one is. */
export interface KubeconfigContent {
  /** For example "https://127.0.0.1:6443". */
  readonly server: string;
  /** PEM text. */
  readonly ca: string;
  readonly user: string;
  readonly identity: KeyPair;
}

/** A kubeconfig with everything inlined, as YAML text; it has one context, named "olmv1-dev". */
export function kubeconfigText({ server, ca, user, identity }: KubeconfigContent): string {
  return `apiVersion: v1
kind: Config
current-context: olmv1-dev
contexts:
- name: olmv1-dev
  context: {cluster: olmv1-dev, user: ${user}}
clusters:
- name: olmv1-dev
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${user}
  user:
    client-certificate-data: ${base64(identity.cert)}
    client-key-data: ${base64(identity.key)}
`;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
