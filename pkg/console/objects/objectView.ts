import { getGroup, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import type { ObjectView, ShownObject } from "../../consoleapi/objects.ts";
import { getErrorMessage, orErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { describeObject } from "../../release/identity.ts";
import { readObjectEvents } from "../../rollout/extensionEvents.ts";
import { formatPermission } from "../cluster/accessChecks.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { listContainers } from "./containers.ts";
import { toEventRows } from "./eventRows.ts";
import { readObjectState } from "./objectState.ts";
import { formatObject } from "./objectText.ts";

const MAX_OWNERS = 20;

/**
 * Reads one object with its Events.
 * @throws ConsoleError notFound if it does not exist, forbidden with the missing permission if the user may not read it
 */
export async function readObjectView(client: Client, ref: ObjectRef, signal: AbortSignal, now: number): Promise<ObjectView> {
  const object = await explainForbidden(client, ref, "get", undefined, () => client.get(ref, { signal }));
  if (!object) throw new ConsoleError("notFound", `${describeObject(ref)} does not exist`);
  const { yaml, json, managedFields, notes } = formatObject(object);
  const { creationTimestamp, ownerReferences = [], namespace } = object.metadata;
  const isPod = ref.kind === "Pod" && ref.apiVersion === "v1";
  return {
    reference: toReference(toObjectRef(object)),
    ...readObjectState(object, now),
    ...(creationTimestamp ? { created: creationTimestamp } : {}),
    owners: ownerReferences
      .slice(0, MAX_OWNERS)
      .map(({ apiVersion, kind, name }) => ({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) })),
    yaml,
    json,
    ...(managedFields === undefined ? {} : { managedFields }),
    notes: [...notes],
    events: toEventRows(await orErrorMessage(readObjectEvents(client, object))),
    ...(isPod ? { containers: listContainers(object) } : {}),
  };
}

/** Returns the reference of an object for the page. */
export function toReference({ apiVersion, kind, namespace, name }: ObjectRef): ShownObject {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** Runs a request. If the user lacks the permission, throws an error that contains it. */
export async function explainForbidden<T>(
  client: Pick<Client, "resourceFor">,
  ref: ObjectRef,
  verb: string,
  subresource: string | undefined,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (err) {
    if (!isForbidden(err)) throw err;
    const { resource } = await client.resourceFor(ref);
    const missing = formatPermission({
      verb,
      group: getGroup(ref.apiVersion),
      resource,
      name: ref.name,
      ...(subresource === undefined ? {} : { subresource }),
      ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
    });
    throw new ConsoleError("forbidden", getErrorMessage(err), { missing, cause: err });
  }
}
