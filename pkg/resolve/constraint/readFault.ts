/** Thrown inside the reading of constraints; becomes a `ConstraintFault` there. */
export class ReadFault extends Error {
  override readonly name = "ReadFault";
  /** Where in the property's value. */
  readonly path: string;

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.path = path;
  }
}
