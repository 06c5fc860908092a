import { ANNOTATION_PROPERTIES } from "../../api/constants.ts";
import { rawProperties } from "../../bundle/propertyList.ts";
import { messageOf } from "../../errors/errors.ts";
import { maxVersionIn } from "../../gate/maxVersion.ts";
import type { BundleContent } from "../content.ts";
import { type Breach, type RuleTable, warning } from "../rule.ts";
import { Source } from "../source.ts";

/** What the bundle says about its surroundings. */
export const METADATA_RULES: RuleTable = {
  dependencies: warning("What the bundle depends on can be read.", Source.format, dependencies),
  "max-openshift-version": warning("The property olm.maxOpenShiftVersion is a version of OpenShift.", Source.gate, maxOpenShiftVersion),
};

function dependencies({ dependencyFaults }: BundleContent): Breach[] {
  return dependencyFaults.map((fault) => {
    const [file = ""] = fault.split(":", 1);
    return { message: fault.slice(file.length + 1).trim(), at: { file } };
  });
}

function maxOpenShiftVersion({ loaded }: BundleContent): Breach[] {
  if (loaded instanceof Error) return [];
  try {
    const found = maxVersionIn(rawProperties(loaded.csv.metadata.annotations?.[ANNOTATION_PROPERTIES] ?? "null"));
    if (found.kind !== "invalid") return [];
    return found.errors.map((message) => ({ message: `${message}; it would keep clusters from being upgraded at all` }));
  } catch (err) {
    return [{ message: messageOf(err) }];
  }
}
