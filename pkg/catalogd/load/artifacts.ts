import { Schema } from "../../fbc/content.ts";
import { SchemaDiscovery } from "../../fbc/graphql/schemaDiscovery.ts";
import { listProperties, readStatedVersion } from "../../fbc/summary/bundleSummary.ts";
import { CatalogData } from "../../fbc/summary/packageData.ts";
import { summarizePackage } from "../../fbc/summary/packageSummary.ts";
import { createSearchRecord } from "../../fbc/summary/search.ts";
import type { PlacedMeta } from "../../fbc/types.ts";
import { findMember } from "../../golang/members.ts";
import type { DerivedArtifact } from "../store/content.ts";

/** One line of an artifact: its search keys and the object. */
export interface ArtifactLine {
  schema: string;
  package: string;
  name: string;
  value: unknown;
}

/** Receives the lines of an artifact in order. */
export type EmitLine = (line: ArtifactLine) => void;

/**
 * Creates one artifact from the metas of a catalog while they are read. Use a new instance for each
 * read.
 */
export interface ArtifactMaker {
  /**
   * @param meta must not be retained, because it may be large. Copy texts from it, see `copyText`.
   * @param sha256 of the line of `meta` in artifact "catalog".
   * @throws ContentError to reject the catalog.
   */
  add(meta: PlacedMeta, emit: EmitLine, sha256: Buffer): void;
  /** Called after the last meta. @throws ContentError to reject the catalog. */
  end(emit: EmitLine): void;
}

/** Schema by which the index finds the lines of artifact "packages". */
const PACKAGE_LINE = "package";
/** Schema by which the index finds the lines of artifact "search". */
const SEARCH_LINE = "search";

/** Large bundle properties that dependency solvers do not use. */
const LARGE = new Set<unknown>(["olm.bundle.object", "olm.csv.metadata"]);

/**
 * Returns the makers of three artifacts: "packages" and "search" have a line for each package,
 * sorted by name; "properties" has a line for each bundle in catalog order.
 */
function summaryArtifacts(): Record<"packages" | "properties" | "search", ArtifactMaker> {
  const facts = new CatalogData();
  return {
    packages: {
      add(meta, _emit, sha256) {
        facts.add(meta, sha256);
      },
      end(emit) {
        for (const one of facts.packages) emit({ schema: PACKAGE_LINE, package: one.name, name: "", value: summarizePackage(one) });
      },
    },
    properties: propertiesArtifact,
    // Collects nothing, because the maker of artifact "packages" collects the data.
    search: {
      add() {},
      end(emit) {
        for (const one of facts.packages) emit({ schema: SEARCH_LINE, package: one.name, name: "", value: createSearchRecord(one) });
      },
    },
  };
}

const propertiesArtifact: ArtifactMaker = {
  add(meta, emit) {
    if (meta.schema !== Schema.bundle) return;
    const properties = listProperties(meta);
    const image = findMember(meta.blob, "image");
    const value = {
      package: meta.package,
      bundle: meta.name,
      ...readStatedVersion(properties),
      image: typeof image === "string" && image !== "" ? image : undefined,
      properties: properties.filter((property) => !LARGE.has(findMember(property, "type"))),
    };
    emit({ schema: Schema.bundle, package: meta.package, name: meta.name, value });
  },
  end() {},
};

/**
 * Creates artifact "graphql": a line for each schema with the fields of its metas. If some metas
 * are omitted, also has a line without a schema.
 */
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

/** Returns a new maker for each derived artifact. */
export function createArtifactMakers(): Partial<Record<DerivedArtifact, ArtifactMaker>> {
  return { ...summaryArtifacts(), graphql: new GraphqlArtifact() };
}
