import type { FbcBundle } from "../../fbc/types.ts";
import { versionOrNone } from "../candidates.ts";
import type { Gvk, Provider } from "./constraint.ts";
import { membersAt } from "./constraintMembers.ts";
import { ReadFault } from "./readFault.ts";
import { gvkFrom } from "./readGvk.ts";

/** Most APIs of one bundle; real ones have up to 100. */
const MAX_APIS = 1_024;

/** `bundle` as constraints see it. Properties `olm.gvk` that state no API are passed over: nobody can require what they name. */
export function providerFrom(bundle: Pick<FbcBundle, "package" | "name" | "properties">): Provider {
  return { packageName: bundle.package, version: versionOrNone(bundle), apis: providedApis(bundle), properties: bundle.properties };
}

function providedApis({ properties }: Pick<FbcBundle, "properties">): Gvk[] {
  const apis = new Map<string, Gvk>();
  for (const { type, value } of properties) {
    const gvk = type === "olm.gvk" ? gvkOrNone(value) : undefined;
    if (gvk && apis.size < MAX_APIS) apis.set(gvkKey(gvk), gvk);
  }
  return [...apis.values()];
}

function gvkOrNone(value: unknown): Gvk | undefined {
  try {
    return gvkFrom(membersAt(value, ""), "");
  } catch (err) {
    if (err instanceof ReadFault) return undefined;
    throw err;
  }
}

/** The API as one text; equal for equal APIs only. */
export function gvkKey({ group, version, kind }: Gvk): string {
  return `${group}/${version}/${kind}`;
}
