import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleFiles } from "../../test/cases/topics/render.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import { loadBundle } from "../bundle/load.ts";
import type { RegistryV1Bundle } from "../bundle/types.ts";
import { listSupportedInstallModes } from "../bundle/validate.ts";
import { selfSigned } from "../certificates/providers.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { renderBundle } from "./render.ts";

const NAMESPACES = ["b", "a"];

/** Returns the kinds and namespaces of roles, or the error. */
function rolesOf(bundle: RegistryV1Bundle): string[] {
  try {
    const options = { installNamespace: "ns", config: { watchNamespaces: NAMESPACES }, certProvider: selfSigned };
    const roles = renderBundle(bundle, options).filter(({ kind, metadata }) => kind === "Role" && metadata.namespace !== "ns");
    return roles.map(({ metadata }) => metadata.namespace ?? "");
  } catch (err) {
    return [getErrorMessage(err)];
  }
}

// Source: I-14; 528 of 17,460 real bundles support MultiNamespace and not AllNamespaces.
describeWithData("real bundles in two namespaces", (folder) => {
  test("renderBundle renders Roles for each permission in both namespaces, or fails without MultiNamespace", {
    timeout: 120_000,
  }, () => {
    let supporting = 0;
    for (const operator of readdirSync(join(folder, "bundles"))) {
      const [version = ""] = readdirSync(join(folder, "bundles", operator))
        .sort()
        .slice(-1);
      const bundle = loadBundle(bundleFiles(join(folder, "bundles", operator, version)));
      const roles = rolesOf(bundle);
      if (!listSupportedInstallModes(bundle.csv).has("MultiNamespace")) {
        expect([operator, roles[0]?.includes('unknown field "watchNamespaces"') || roles[0]?.startsWith("unsupported bundle")]).toEqual([
          operator,
          true,
        ]);
        continue;
      }
      const permissions = bundle.csv.spec.install.spec.permissions ?? [];
      if (roles[0]?.startsWith("unsupported bundle")) continue;
      supporting++;
      expect([operator, roles]).toEqual([operator, ["a", "b"].flatMap((namespace) => permissions.map(() => namespace))]);
    }
    expect(supporting).toBeGreaterThan(20);
  });
});
