/** Where the proxy variables of installed operators may come from: what OpenShift says (auto), or nowhere (none). */
export const OPERATOR_PROXY_MODES = ["auto", "none"] as const;

/** One of `OPERATOR_PROXY_MODES`. */
export type OperatorProxyMode = (typeof OPERATOR_PROXY_MODES)[number];
