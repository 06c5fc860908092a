/**
 * The GraphQL field of an object's key: letters, digits and `_` in camel case, a letter first.
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
 * The GraphQL type of a schema, or of a field within one: capitalized words without what stands between them.
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

/** The query field that lists the objects of a schema: `olmbundles` of "olm.bundle". It may begin with a digit. */
export function queryFieldName(schema: string): string {
  return `${schema.replace(/[^a-zA-Z0-9]/g, "").toLowerCase()}s`;
}

/** `name`, made one that GraphQL accepts by `prefix` where it begins with a digit. */
export function withLetterFirst(name: string, prefix: string): string {
  return /^[0-9]/.test(name) ? `${prefix}_${name}` : name;
}

function firstPart(part: string): string {
  return part === part.toUpperCase() ? part.toLowerCase() : part.charAt(0).toLowerCase() + part.slice(1);
}

function capitalized(part: string): string {
  return part.charAt(0).toUpperCase() + part.slice(1).toLowerCase();
}
