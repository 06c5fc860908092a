import { type KubeObject, refOf } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { isInvalid } from "../../kube/errors.ts";
import type { ApplyOptions } from "../../kube/request.ts";
import { supplantedPorts } from "../../release/renumberedPorts.ts";

/** Where the API server says that two ports have one name, or that one of several has none. */
const PORT_FIELD = /\bports\[\d+\](\.name)?$/;

/**
 * Server-side apply that also puts a port back of which somebody changed the number: the API server takes that for another port, keeps it, and
 * refuses ours beside it. The fields of that port are made ours first, without a change of what the object says.
 * A dry run gives the live object with these ports put back; what else would change it does not tell.
 * @throws KubeError whatever the API server says otherwise.
 */
export async function applyWithPorts(
  client: Pick<Client, "apply" | "get" | "patch">,
  object: KubeObject,
  options: ApplyOptions,
): Promise<KubeObject> {
  try {
    return await client.apply(object, options);
  } catch (err) {
    const { dryRun = false, fieldManager, signal } = options;
    const during = signal ? { signal } : {};
    const live = isAboutPorts(err) ? await client.get(refOf(object), during) : undefined;
    const supplanted = live && supplantedPorts(object, live);
    if (!supplanted) throw err;
    if (dryRun) return supplanted.after;
    const { resourceVersion } = live.metadata;
    const metadata = { managedFields: supplanted.managedFields, resourceVersion };
    await client.patch(refOf(object), { metadata }, { type: "merge", fieldManager, ...during });
    return client.apply(object, options);
  }
}

function isAboutPorts(err: unknown): boolean {
  if (!isInvalid(err)) return false;
  const causes = err.details?.["causes"];
  return Array.isArray(causes) && causes.length > 0 && causes.every((cause) => PORT_FIELD.test(fieldOf(cause)));
}

function fieldOf(cause: unknown): string {
  return typeof cause === "object" && cause !== null && "field" in cause && typeof cause.field === "string" ? cause.field : "";
}
