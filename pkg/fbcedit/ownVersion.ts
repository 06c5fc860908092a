import type { JsonObject } from "../api/k8s.ts";
import { type BundleVersion, bundleVersion } from "../fbc/graph/bundleVersion.ts";
import { givenText, objectMember, objectMembers, textMember } from "../fbc/members.ts";

/** The version that a bundle states in its property olm.package; undefined where it has none. */
export function ownVersion(bundle: Readonly<JsonObject>): BundleVersion | undefined {
  const property = objectMembers(bundle, "properties").find((one) => textMember(one, "type") === "olm.package");
  const value = property && objectMember(property, "value");
  return value ? bundleVersion(textMember(value, "version"), givenText(value, "release")) : undefined;
}
