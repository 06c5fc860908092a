/**
 * What the image itself holds is broken: a manifest that is none, an archive that ends too early. What else fails in a pull is an error of
 * the world around it.
 */
export class ContentError extends Error {
  override readonly name: string = "ContentError";
}

/** What the image holds is whole, but refused: beyond a limit, or hostile. An image by digest stays refused for ever. */
export class RefusedError extends ContentError {
  override readonly name = "RefusedError";
}

/** The first RefusedError in the cause chain. */
export function refusalIn(err: unknown): RefusedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RefusedError) return e;
  return undefined;
}
