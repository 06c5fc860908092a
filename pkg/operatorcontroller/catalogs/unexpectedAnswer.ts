/** The answer of a catalog was not 200. */
export class UnexpectedStatus extends Error {
  override readonly name = "UnexpectedStatus";
  readonly status: number;

  constructor(status: number) {
    super(`error: received unexpected response status code ${status}`);
    this.status = status;
  }
}

/** The answer comes from other content than the catalog's status names: a replica that lags behind, or a status that does. */
export class UnexpectedContent extends Error {
  override readonly name = "UnexpectedContent";

  constructor(got: string, want: string) {
    super(`it answers from ${got} while status.resolvedSource says ${want}`);
  }
}
