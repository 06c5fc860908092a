import * as z from "zod/mini";
import type { ExtensionPermissions } from "../../api/extensionPermissions.ts";
import type { ExtensionPermissionsView, PermissionsComparison } from "../../consoleapi/permissions.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { buildPermissionsRef } from "../../rollout/extensions.ts";
import { type PermissionsView, readPermissionsView } from "../../rollout/permissionsView.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { SharedWorks } from "../http/sharedWork.ts";
import { LimitsQuery, parseLimits, tryLimits } from "../why/sourceLimits.ts";
import { comparePermissions } from "./comparePermissions.ts";
import { buildPermissionsView } from "./permissionsView.ts";

/** Time for pulls and reads together, in milliseconds. */
const TIMEOUT_MS = 5 * 60_000;
const Params = z.object({ name: ObjectName });

/** Registers the permissions of an extension, and their comparison with those that another bundle needs. Writes nothing. */
export function registerPermissionsRoutes(
  server: ConsoleRoutes,
  { catalogs, registry, search, session: { systemNamespace } }: ConsoleContext,
): void {
  const works = new SharedWorks<PermissionsComparison>();
  server.route({
    method: "GET",
    url: "/api/extensions/:name/permissions",
    schema: { params: Params },
    handler: async ({ identity: { client }, params: { name } }): Promise<ExtensionPermissionsView> => {
      const extension = await requireExtension(client, name);
      return buildPermissionsView(extension, await readManaged(client, name), systemNamespace);
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/permissions/comparison",
    schema: { params: Params, querystring: LimitsQuery },
    config: { timeoutMs: TIMEOUT_MS },
    handler: async ({ identity, deadline, params: { name }, query }): Promise<PermissionsComparison> => {
      const { client } = identity;
      const current = await requireExtension(client, name);
      const extension = tryLimits(current, query);
      const key = JSON.stringify([current.metadata.uid, current.metadata.resourceVersion, parseLimits(query)]);
      return works
        .of(identity)
        .run(key, deadline, (signal) =>
          catalogs.use(signal, (lease) => comparePermissions({ client, extension, lease, registry, search, systemNamespace, signal })),
        );
    },
  });
}

/** Returns the permissions that permission-manager manages; undefined if it does not, or if the cluster does not have it. */
async function readManaged(client: Client, name: string): Promise<PermissionsView | undefined> {
  try {
    const permissions = await client.get<ExtensionPermissions>(buildPermissionsRef(name));
    return permissions && (await readPermissionsView(client, permissions));
  } catch (err) {
    if (err instanceof KindNotServed) return undefined;
    throw err;
  }
}
