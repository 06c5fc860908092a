import { Schema } from "../../fbc/content.ts";
import { SchemaDiscovery } from "../../fbc/graphql/schemaDiscovery.ts";
import { propertiesOf, statedVersion } from "../../fbc/summary/bundleSummary.ts";
import { CatalogFacts } from "../../fbc/summary/packageFacts.ts";
import { packageSummary } from "../../fbc/summary/packageSummary.ts";
import { searchRecord } from "../../fbc/summary/search.ts";
import type { PlacedMeta } from "../../fbc/types.ts";
import { memberOf } from "../../golang/members.ts";
import type { DerivedArtifact } from "../store/content.ts";

/** One line of an artifact: what it is found by, and the object itself. */
export interface ArtifactLine {
  schema: string;
  package: string;
  name: string;
  value: unknown;
}

/** Takes an artifact's lines in order. */
export type EmitLine = (line: ArtifactLine) => void;

/** Makes one artifact of a catalog's content out of its metas as they pass; one maker for each reading of a catalog. */
export interface ArtifactMaker {
  /**
   * @param meta must not be kept: it is large. Text taken from it has to be copied, see `ownText`.
   * @param sha256 of its line in the artifact "catalog".
   * @throws ContentError to refuse the catalog.
   */
  add(meta: PlacedMeta, emit: EmitLine, sha256: Buffer): void;
  /** After the last meta. @throws ContentError to refuse the catalog. */
  end(emit: EmitLine): void;
}

/** Schema of the lines of artifact "packages", by which they are found. */
const PACKAGE_LINE = "package";
/** Schema of the lines of artifact "search". */
const SEARCH_LINE = "search";

/** Properties that make a bundle large and tell a dependency solver nothing. */
const LARGE = new Set<unknown>(["olm.bundle.object", "olm.csv.metadata"]);

/** Makers of the artifacts "packages" and "search", a line for each package in order of its name, and "properties", a line for each bundle as it comes. */
function summaryArtifacts(): Record<"packages" | "properties" | "search", ArtifactMaker> {
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
    properties: propertiesArtifact,
    // What is searched was collected for the packages.
    search: {
      add() {},
      end(emit) {
        for (const one of facts.packages) emit({ schema: SEARCH_LINE, package: one.name, name: "", value: searchRecord(one) });
      },
    },
  };
}

const propertiesArtifact: ArtifactMaker = {
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

/** Makes artifact "graphql": a line a schema with the fields of its metas, and one without a schema when some metas are left out. */
class GraphqlArtifact implements ArtifactMaker {
  readonly #discovery = new SchemaDiscovery();

  add({ schema, blob }: PlacedMeta): void {
    this.#discovery.add(schema, blob);
  }

  end(emit: EmitLine): void {
    for (const value of this.#discovery.schemas()) emit({ schema: value.schema, package: "", name: "", value });
    const { leftOut } = this.#discovery;
    if (leftOut > 0) emit({ schema: "", package: "", name: "", value: { leftOut } });
  }
}

/** A new maker for each derived artifact. */
export function artifactMakers(): Partial<Record<DerivedArtifact, ArtifactMaker>> {
  return { ...summaryArtifacts(), graphql: new GraphqlArtifact() };
}
