/** What a scenario tests: every OLM v1, or a part that not every OLM v1 has. `extended` is the part that only olmv1 has. */
export const PROFILES = ["core", "webhooks", "openshift", "permissions", "extended"] as const;
export type Profile = (typeof PROFILES)[number];
