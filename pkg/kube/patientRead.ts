import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { Client } from "./client.ts";
import { isPassing } from "./errors.ts";

/** How to read an object during a wait. */
interface PatientReadOptions {
  readonly signal: AbortSignal;
  /** Whether the time limit of the wait has passed, so that temporary failures are thrown as well. */
  readonly isLate: boolean;
}

/**
 * Reads an object during a wait. Returns `later` after a temporary failure of the API server, and undefined if the object does not exist.
 * @throws the signal's reason when it aborts, and errors of the API server.
 */
export async function readPatiently<T extends KubeObject>(
  client: Pick<Client, "get">,
  ref: ObjectRef,
  { signal, isLate }: PatientReadOptions,
): Promise<T | "later" | undefined> {
  try {
    return await client.get<T>(ref, { signal });
  } catch (err) {
    signal.throwIfAborted();
    if (isPassing(err) && !isLate) return "later";
    throw err;
  }
}
