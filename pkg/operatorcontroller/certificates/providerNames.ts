/** Who provides the certificates of webhooks and API services: flag --webhook-cert-provider. */
export const WEBHOOK_CERT_PROVIDERS = ["auto", "cert-manager", "openshift-service-ca", "self-signed", "none"] as const;

/** One of `WEBHOOK_CERT_PROVIDERS`. */
export type WebhookCertProvider = (typeof WEBHOOK_CERT_PROVIDERS)[number];
