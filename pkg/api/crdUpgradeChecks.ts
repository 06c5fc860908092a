/** Checks of one CRD against another: of the whole, of each value in the schema, and for what none of these looks at. In the order of findings. */
export const CRD_CHECKS = [
  "scope",
  "storedVersionRemoval",
  "existingFieldRemoval",
  "type",
  "required",
  "enum",
  "default",
  "maximum",
  "maxItems",
  "maxLength",
  "maxProperties",
  "minimum",
  "minItems",
  "minLength",
  "minProperties",
  "pattern",
  "nullable",
  "oneOf",
  "unhandled",
] as const;
export type CrdCheck = (typeof CRD_CHECKS)[number];

/** Checks of a CRD against the custom resources that exist; the Go operator-controller has none of them. */
export const EXISTING_CHECKS = ["existingObjects", "servedVersionRemoval"] as const;

/** Everything that spec.install.preflight.crdUpgradeSafety.ignore may name. */
export const CRD_UPGRADE_CHECKS = [...CRD_CHECKS, ...EXISTING_CHECKS] as const;
