import { gvkFaults } from "../../fbc/validate/propertyCheck.ts";
import type { Gvk } from "./constraint.ts";
import { type Members, textOf } from "./constraintMembers.ts";
import { ReadFault } from "./readFault.ts";

/** The members of a required or provided API. */
export const GVK_KEYS = ["group", "version", "kind"];

/**
 * An API as `olm.gvk`, `olm.gvk.required` and the constraint `gvk` state it: all three set, in the forms that Kubernetes has for them.
 * @throws ReadFault when one is not; no such API can be served.
 */
export function gvkFrom(members: Members, path: string): Gvk {
  const [group = "", version = "", kind = ""] = GVK_KEYS.map((key) => textOf(members, key, path));
  const faults = gvkFaults({ group, version, kind });
  if (faults.length > 0) throw new ReadFault(path, faults.join("; "));
  return { group, version, kind };
}
