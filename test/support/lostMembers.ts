/**
 * Lists members of `desired` that `live` lacks, as paths such as `spec.ports[0].name`. Empty members (null, false, 0, "", [], {}) can
 * be absent, values can be in another form, and `live` can have more.
 */
export function lostMembers(desired: unknown, live: unknown, path = ""): string[] {
  if (isEmpty(desired)) return [];
  if (live === undefined || live === null) return [path];
  if (Array.isArray(desired)) {
    if (!Array.isArray(live) || live.length < desired.length) return [path];
    return desired.flatMap((entry, i) => lostMembers(entry, live[i], `${path}[${i}]`));
  }
  if (typeof desired !== "object" || typeof live !== "object") return [];
  return Object.entries(desired as object).flatMap(([member, value]) =>
    lostMembers(value, (live as Record<string, unknown>)[member], path === "" ? member : `${path}.${member}`),
  );
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isEmpty);
  return value === undefined || value === null || value === false || value === 0 || value === "";
}
