/** Who provides the certificates of webhooks and API services: flag --webhook-cert-provider. */
export const WEBHOOK_CERT_PROVIDERS = ["auto", "cert-manager", "openshift-service-ca", "self-signed", "none"] as const;

/** One of `WEBHOOK_CERT_PROVIDERS`. */
export type WebhookCertProvider = (typeof WEBHOOK_CERT_PROVIDERS)[number];

/** Where the proxy variables of installed operators may come from: what OpenShift says (auto), or nowhere (none). */
export const OPERATOR_PROXY_MODES = ["auto", "none"] as const;

/** One of `OPERATOR_PROXY_MODES`. */
export type OperatorProxyMode = (typeof OPERATOR_PROXY_MODES)[number];
