import { CLI_MANAGER } from "../api/constants.ts";
import { getGroup, type KubeObject, toObjectRef } from "../api/k8s.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import { describeObject } from "../release/identity.ts";

/** The result of applying an object. */
export interface AppliedObject {
  readonly object: KubeObject;
  readonly verb: "created" | "configured" | "unchanged" | "not validated";
}

/** Thrown if an object is rejected; contains the objects that were applied before. */
export class ApplyFailed extends Error {
  readonly done: readonly AppliedObject[];

  constructor(message: string, done: readonly AppliedObject[], options: ErrorOptions) {
    super(message, options);
    this.done = done;
  }
}

/**
 * Applies objects in order with server-side apply. Does not overwrite fields of other field managers.
 * @param report called after each object is applied
 * @param dryRun only validates on the API server, except objects in a namespace that does not exist yet
 * @throws ApplyFailed with the rejected object, the reason, and the objects applied before
 */
export async function applyObjects(
  client: Pick<Client, "get" | "apply">,
  objects: readonly KubeObject[],
  { dryRun = false, report = () => undefined }: { dryRun?: boolean; report?: (applied: AppliedObject) => void } = {},
): Promise<AppliedObject[]> {
  const done: AppliedObject[] = [];
  for (const object of objects) {
    try {
      const before = await client.get(toObjectRef(object), { metadataOnly: true });
      const after = await client.apply(object, { fieldManager: CLI_MANAGER, dryRun });
      const isSame = before?.metadata.resourceVersion === after.metadata.resourceVersion;
      done.push({ object: after, verb: before === undefined ? "created" : isSame ? "unchanged" : "configured" });
    } catch (err) {
      if (!dryRun || !isNotFound(err)) throw new ApplyFailed(refusal(object, err), done, { cause: err });
      done.push({ object, verb: "not validated" });
    }
    const last = done.at(-1);
    if (last) report(last);
  }
  return done;
}

function refusal(object: KubeObject, err: unknown): string {
  const advice = isConflict(err) ? "; another field manager owns these fields, and olmv1 does not overwrite them" : "";
  return `apply ${describeObject(object)}: ${getErrorMessage(err)}${advice}`;
}

/** Formats the result like kubectl, such as `role.rbac.authorization.k8s.io/x created`, and adds the namespace of a namespaced object. */
export function formatApplied({ object, verb }: AppliedObject, dryRun?: "client" | "server"): string {
  const group = getGroup(object.apiVersion);
  const { name, namespace } = object.metadata;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `${object.kind.toLowerCase()}${group === "" ? "" : `.${group}`}/${name} ${verb}${where}${dryRun === undefined ? "" : ` (${dryRun} dry run)`}`;
}

/** Formats a partial failure. @param goOn how to continue or roll back; not printed if nothing was applied */
export function formatUnfinished({ message, done }: ApplyFailed, goOn: string): string {
  const made = done.filter(({ verb }) => verb !== "unchanged").map((one) => formatApplied(one));
  return made.length === 0 ? `${message}; nothing was changed` : `${message}; already applied: ${made.join(", ")}; ${goOn}`;
}
