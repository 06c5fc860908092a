/** Who provides the certificates of webhooks and API services: flag --webhook-cert-provider. */
export const WEBHOOK_CERT_PROVIDERS = ["auto", "cert-manager", "openshift-service-ca", "self-signed", "none"] as const;

/** One of `WEBHOOK_CERT_PROVIDERS`. */
export type WebhookCertProvider = (typeof WEBHOOK_CERT_PROVIDERS)[number];

/** Where the proxy variables of installed operators may come from: what OpenShift says (auto), or nowhere (none). */
export const OPERATOR_PROXY_MODES = ["auto", "none"] as const;

/** One of `OPERATOR_PROXY_MODES`. */
export type OperatorProxyMode = (typeof OPERATOR_PROXY_MODES)[number];

/** The help of each flag about the proxy of installed operators. */
export const OPERATOR_PROXY_HELP = {
  "operator-proxy":
    'which proxy installed operators are told in HTTP_PROXY, HTTPS_PROXY and NO_PROXY: that of OpenShift\'s Proxy "cluster" (auto), or none',
  "operator-http-proxy":
    "URL for their HTTP_PROXY; with any of these three, the cluster is not asked; whoever may see this program's arguments sees a password in it",
  "operator-https-proxy": "URL for their HTTPS_PROXY",
  "operator-no-proxy": "hosts, domains and networks for their NO_PROXY, with commas between them",
} as const;
