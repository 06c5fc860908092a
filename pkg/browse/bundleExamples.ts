import { readBundleDetails, readExampleKind } from "../fbc/summary/bundleDetails.ts";
import type { PackageInCatalog } from "./packageView.ts";

/** Returns the example objects of a bundle. @param kind undefined for all kinds @throws Error if the bundle has no example */
export function findExamples({ metas, name, catalog }: PackageInCatalog, bundle: string, kind: string | undefined): readonly object[] {
  const meta = metas.find((one) => one.schema === "olm.bundle" && one.name === bundle);
  const examples = meta && readBundleDetails(meta, { examples: true }).examples;
  if (examples === undefined)
    throw new Error(`catalog ${catalog} has no examples of ${bundle}; its image may contain them: olmv1 show ${name} prints the image`);
  const desired = kind === undefined ? examples : examples.filter((one) => readExampleKind(one).toLowerCase() === kind.toLowerCase());
  if (desired.length > 0) return desired;
  const kinds = [...new Set(examples.map(readExampleKind))].join(", ");
  throw new Error(
    kind === undefined || kinds === ""
      ? `${bundle} has no examples`
      : `${bundle} has no example of kind ${JSON.stringify(kind)}; kinds with examples: ${kinds}`,
  );
}
