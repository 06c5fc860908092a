/** A stored file is not what was written. */
export class DamagedError extends Error {
  override readonly name = "DamagedError";
}
