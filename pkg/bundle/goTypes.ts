import { ListType, MapType, type Member, PointerType, StructType } from "./goComposites.ts";
import { specialType } from "./goSpecial.ts";
import table from "./goTypes.json" with { type: "json" };
import { ANY_CASE_JSON, bool, bytes, CONVERTER, float64, type GoMode, type GoType, integer, STRICT_CASE_JSON, string } from "./goValues.ts";

/**
 * The Go struct types that bundles and configuration pass through, read in one of the ways that GoMode names.
 * Converting decodes and encodes in one go: the result is what Go prints, in Go's order of members. Members that are
 * unknown or null vanish, members without `omitempty` appear with their zero value, quantities become canonical.
 * The input is never changed; parts of it may be shared with the result.
 */
export class GoTypes {
  readonly mode: GoMode;
  readonly #structs = new Map<string, StructType>();
  readonly #schema: () => GoType;

  /** @param schemas how the schemas below `items` and the like are read, which is by code of their own; absent: as all else. */
  constructor(mode: GoMode, schemas?: GoTypes) {
    this.mode = mode;
    this.#schema = () => (schemas ?? this).type("apiextensions/v1.JSONSchemaProps");
    const definitions: Readonly<Record<string, readonly string[] | null>> = table.types;
    for (const name of Object.keys(definitions)) this.#structs.set(name, new StructType(name, mode));
    for (const [name, members] of Object.entries(definitions)) {
      this.#struct(name).define((members ?? []).map((text, index) => this.#member(text, index)));
    }
  }

  /**
   * `value` as Go's struct `name` holds it, such as "apiextensions/v1.CustomResourceDefinition".
   * @throws GoTypeError in Go's words when a member has the wrong type.
   */
  convert(name: string, value: unknown): unknown {
    const type = this.type(name);
    return value === null || value === undefined ? type.zero() : type.convert(value);
  }

  /** The struct type `name`. @throws Error when the table has none. */
  type(name: string): GoType {
    return this.#struct(name);
  }

  #struct(name: string): StructType {
    const type = this.#structs.get(name);
    if (!type) throw new Error(`there is no Go type ${name} in the table`);
    return type;
  }

  #member(text: string, index: number): Member {
    const [name = "", type = "", ...options] = text.split(" ");
    return { name, index, type: this.#type(type), omitEmpty: options.includes("omitempty"), omitZero: options.includes("omitzero") };
  }

  #type(text: string): GoType {
    if (text.startsWith("[]")) return new ListType(this.#type(text.slice(2)), this.mode);
    if (text.startsWith("{}")) return new MapType(this.#type(text.slice(2)), this.mode);
    if (text.startsWith("*")) return new PointerType(this.#type(text.slice(1)));
    if (text.startsWith("!")) return specialType(text.slice(1), this.#schema);
    const [kind = "", name = kind] = text.split("=");
    switch (kind) {
      case "string":
        return string(name, this.mode);
      case "bool":
        return bool(this.mode);
      case "int32":
      case "int64":
        return integer(kind, this.mode);
      case "int":
        return integer("int64", this.mode);
      case "float64":
        return float64(this.mode);
      case "bytes":
        return bytes(this.mode);
      default:
        return this.#struct(text);
    }
  }
}

const STRICT_TYPES = new GoTypes(STRICT_CASE_JSON);

/** Types as manifests become them, through apimachinery's unstructured converter. */
export const MANIFEST_TYPES = new GoTypes(CONVERTER, STRICT_TYPES);

/** Types as encoding/json fills them from a user's configuration. */
export const CONFIG_TYPES = new GoTypes(ANY_CASE_JSON, STRICT_TYPES);

/**
 * Checks `kind`, `apiVersion` and `metadata` of any object, as Kubernetes does before it looks at the rest.
 * @throws GoTypeError in Go's words when one has the wrong type.
 */
export function checkMetadata(object: Readonly<Record<string, unknown>>): void {
  STRICT_TYPES.convert("metadataOnlyObject", object);
}
