/** From the worst on. */
export const SEVERITIES = ["error", "warning", "info"] as const;

/**
 * How bad it is to break a rule: with an error the bundle cannot be installed, or not in every way that it says it can; a warning is most likely a
 * mistake; what is only information may be meant so.
 */
export type Severity = (typeof SEVERITIES)[number];
