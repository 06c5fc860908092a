/** The call itself is wrong: nothing was run. Exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
