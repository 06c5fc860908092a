import * as z from "zod/mini";
import type { ExtensionPermissions } from "../../api/extensionPermissions.ts";
import type { ExtensionPermissionsView, PermissionsComparison } from "../../consoleapi/permissions.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { buildPermissionsRef } from "../../rollout/extensions.ts";
import { type PermissionsView, readPermissionsView } from "../../rollout/permissionsView.ts";
import { requireExtension } from "../actions/plannedChange.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { createRequestSignal } from "../http/requestSignal.ts";
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
  { callers, catalogs, registry, session: { systemNamespace } }: ConsoleContext,
): void {
  const works = new SharedWorks<PermissionsComparison>();
  server.route({
    method: "GET",
    url: "/api/extensions/:name/permissions",
    schema: { params: Params },
    handler: async (request): Promise<ExtensionPermissionsView> => {
      const { client } = callers.identify(request.headers);
      const extension = await requireExtension(client, request.params.name);
      return buildPermissionsView(extension, await readManaged(client, request.params.name), systemNamespace);
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/permissions/comparison",
    schema: { params: Params, querystring: LimitsQuery },
    handler: async (request, reply): Promise<PermissionsComparison> => {
      const identity = callers.identify(request.headers);
      const { client } = identity;
      const current = await requireExtension(client, request.params.name);
      const extension = tryLimits(current, request.query);
      const key = JSON.stringify([current.metadata.uid, current.metadata.resourceVersion, parseLimits(request.query)]);
      return works
        .of(identity)
        .run(key, createRequestSignal(reply, TIMEOUT_MS), (signal) =>
          catalogs.use(signal, (lease) => comparePermissions({ client, extension, lease, registry, systemNamespace, signal })),
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
