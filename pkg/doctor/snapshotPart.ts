import { getErrorMessage } from "../errors/errors.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";

/** The result of a read, or why it is forbidden. */
export type SnapshotPart<T> = { readonly value: T } | { readonly refused: string };

/** Returns the result of a read: `absent` if the kind is not served, or `refused` if the read is forbidden. */
export async function readAnswer<T, A>(read: () => Promise<T>, absent: A): Promise<SnapshotPart<T | A>> {
  try {
    return { value: await read() };
  } catch (err) {
    if (err instanceof KindNotServed) return { value: absent };
    if (isForbidden(err)) return { refused: getErrorMessage(err) };
    throw err;
  }
}

/** Returns the result of a read; undefined if it was forbidden. */
export function getPartValue<T>(part: SnapshotPart<T>): T | undefined {
  return "value" in part ? part.value : undefined;
}
