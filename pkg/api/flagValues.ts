/** Providers of the certificates of webhooks and API services: values of flag --webhook-cert-provider. */
export const WEBHOOK_CERT_PROVIDERS = ["auto", "cert-manager", "openshift-service-ca", "self-signed", "none"] as const;

/** One of `WEBHOOK_CERT_PROVIDERS`. */
export type WebhookCertProvider = (typeof WEBHOOK_CERT_PROVIDERS)[number];

/** Sources of the proxy variables of installed operators: the OpenShift cluster (auto) or none. */
export const OPERATOR_PROXY_MODES = ["auto", "none"] as const;

/** One of `OPERATOR_PROXY_MODES`. */
export type OperatorProxyMode = (typeof OPERATOR_PROXY_MODES)[number];

/** Descriptions of the flags for the proxy of installed operators. */
export const OPERATOR_PROXY_HELP = {
  "operator-proxy": 'source of HTTP_PROXY, HTTPS_PROXY and NO_PROXY for installed operators: the OpenShift Proxy "cluster" (auto), or none',
  "operator-http-proxy":
    "HTTP_PROXY for installed operators. This flag, --operator-https-proxy and --operator-no-proxy override the cluster proxy. A password in the URL is visible in the process list",
  "operator-https-proxy": "HTTPS_PROXY for installed operators",
  "operator-no-proxy": "NO_PROXY for installed operators: comma-separated hosts, domains and networks",
} as const;
