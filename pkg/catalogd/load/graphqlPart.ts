import { SchemaDiscovery } from "../../fbc/graphql/schemaDiscovery.ts";
import type { PlacedMeta } from "../../fbc/types.ts";
import type { EmitLine, PartMaker } from "./partMaker.ts";

/** Makes part "graphql": a line a schema with the fields of its metas, and one without a schema when some metas are left out. */
export class GraphqlPart implements PartMaker {
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
