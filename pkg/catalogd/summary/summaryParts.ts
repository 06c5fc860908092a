import { Schema } from "../../fbc/content.ts";
import { memberOf } from "../../golang/members.ts";
import { propertiesOf, statedVersion } from "../../fbc/summary/bundleSummary.ts";
import { CatalogFacts } from "../../fbc/summary/packageFacts.ts";
import { packageSummary } from "../../fbc/summary/packageSummary.ts";
import { searchRecord } from "../../fbc/summary/search.ts";
import type { PartMaker } from "../load/partMaker.ts";

/** Schema of the lines of part "packages", by which they are found. */
const PACKAGE_LINE = "package";
/** Schema of the lines of part "search". */
const SEARCH_LINE = "search";

/** Properties that make a bundle large and tell a dependency solver nothing. */
const LARGE = new Set<unknown>(["olm.bundle.object", "olm.csv.metadata"]);

/** Makers of the parts "packages" and "search", a line for each package in order of its name, and "properties", a line for each bundle as it comes. */
export function summaryParts(): Record<"packages" | "properties" | "search", PartMaker> {
  const facts = new CatalogFacts();
  return {
    packages: {
      add(meta, _emit, sha256) {
        facts.add(meta, sha256);
      },
      end(emit) {
        for (const one of facts.packages) emit({ schema: PACKAGE_LINE, package: one.name, name: "", value: packageSummary(one) });
      },
    },
    properties: propertiesPart,
    // What is searched was collected for the packages.
    search: {
      add() {},
      end(emit) {
        for (const one of facts.packages) emit({ schema: SEARCH_LINE, package: one.name, name: "", value: searchRecord(one) });
      },
    },
  };
}

const propertiesPart: PartMaker = {
  add(meta, emit) {
    if (meta.schema !== Schema.bundle) return;
    const properties = propertiesOf(meta);
    const image = memberOf(meta.blob, "image");
    const value = {
      package: meta.package,
      bundle: meta.name,
      ...statedVersion(properties),
      image: typeof image === "string" && image !== "" ? image : undefined,
      properties: properties.filter((property) => !LARGE.has(memberOf(property, "type"))),
    };
    emit({ schema: Schema.bundle, package: meta.package, name: meta.name, value });
  },
  end() {},
};
