/**
 * Returns the GraphQL field name for a key: letters, digits and `_` in camel case, beginning with a letter.
 * @see operator-controller df2c201d internal/catalogd/graphql/graphql.go, remapFieldName
 */
export function remapFieldName(key: string): string {
  if (key === "") return "value";
  const parts = key
    .replace(/[^a-zA-Z0-9_]/gu, "_")
    .split("_")
    .filter((part) => part !== "");
  const name = parts.map((part, i) => (i === 0 ? firstPart(part) : capitalized(part))).join("");
  return /^[a-zA-Z]/.test(name) ? name : `field_${name}`;
}

/**
 * Returns the GraphQL type name for a schema, or for a field of a schema: capitalized words without separators.
 * @see operator-controller df2c201d internal/catalogd/graphql/graphql.go, sanitizeTypeName
 */
export function sanitizeTypeName(text: string): string {
  const words = text
    .replace(/[^a-zA-Z0-9]/gu, "_")
    .replace(/^[0-9]+/, "")
    .split("_")
    .filter((word) => word !== "");
  return words.map(capitalized).join("") || "Unknown";
}

/** Returns the query field that lists the objects of a schema, such as `olmbundles` for "olm.bundle". It can begin with a digit. */
export function toQueryFieldName(schema: string): string {
  return `${schema.replace(/[^a-zA-Z0-9]/g, "").toLowerCase()}s`;
}

/** Adds `prefix` to a name that begins with a digit, which GraphQL does not allow. */
export function withLetterFirst(name: string, prefix: string): string {
  return /^[0-9]/.test(name) ? `${prefix}_${name}` : name;
}

function firstPart(part: string): string {
  return part === part.toUpperCase() ? part.toLowerCase() : part.charAt(0).toLowerCase() + part.slice(1);
}

function capitalized(part: string): string {
  return part.charAt(0).toUpperCase() + part.slice(1).toLowerCase();
}
