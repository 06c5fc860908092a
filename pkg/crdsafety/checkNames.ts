/** Checks of the CRD as a whole, of each value in its schema, and what none of these looked at, in the order of findings. */
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
