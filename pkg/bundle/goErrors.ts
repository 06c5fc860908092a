/** A value of the wrong type for a Go struct. `message` is Go's text. */
export class GoTypeError extends Error {
  override readonly name = "GoTypeError";

  /** The same error one struct further out; the text of some errors tells the path. */
  within(_struct: string, _member: string): GoTypeError {
    return this;
  }
}

/** What encoding/json says: value, where in which struct, and the type wanted. */
export class JsonTypeError extends GoTypeError {
  readonly #value: string;
  readonly #type: string;
  readonly #struct: string;
  readonly #path: readonly string[];

  constructor(value: string, type: string, struct = "", path: readonly string[] = []) {
    const place = struct === "" ? "Go value" : `Go struct field ${struct}.${path.join(".")}`;
    super(`json: cannot unmarshal ${value} into ${place} of type ${type}`);
    this.#value = value;
    this.#type = type;
    this.#struct = struct;
    this.#path = path;
  }

  override within(struct: string, member: string): GoTypeError {
    return new JsonTypeError(this.#value, this.#type, this.#struct || struct, [member, ...this.#path]);
  }
}
