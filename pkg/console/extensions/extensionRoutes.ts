import * as z from "zod/mini";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ObjectTree } from "../../consoleapi/objects.ts";
import type { ExtensionOverview } from "../../consoleapi/overview.ts";
import type { Client } from "../../kube/client.ts";
import { readExtensionDescription } from "../../rollout/extensionDescription.ts";
import { buildExtensionRef } from "../../rollout/extensions.ts";
import { readExtensionTree } from "../../rollout/objectTree.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { buildTreeView } from "./objectTreeView.ts";
import { buildOverview } from "./overview.ts";

const NameParams = z.object({ name: ObjectName });

/** Registers the routes of the overview and of the objects of an extension. */
export function registerExtensionRoutes(server: ConsoleRoutes, { callers, session }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/extensions/:name/overview",
    schema: { params: NameParams },
    handler: async (request, reply): Promise<ExtensionOverview> => {
      const { client } = callers.identify(request.headers);
      reply.header("cache-control", "no-store");
      const now = Date.now();
      const extension = await requireExtension(client, request.params.name);
      return buildOverview(await readExtensionDescription(client, extension, { systemNamespace: session.systemNamespace, now }), now);
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/objects",
    schema: { params: NameParams },
    handler: async (request, reply): Promise<ObjectTree> => {
      const { client } = callers.identify(request.headers);
      const { name } = request.params;
      reply.header("cache-control", "no-store");
      await requireExtension(client, name);
      return buildTreeView(await readExtensionTree(client, name, { systemNamespace: session.systemNamespace, now: Date.now() }));
    },
  });
}

/** Reads an extension. @throws ConsoleError notFound if it does not exist */
async function requireExtension(client: Pick<Client, "get">, name: string): Promise<ClusterExtension> {
  const found = await client.get<ClusterExtension>(buildExtensionRef(name));
  if (found) return found;
  throw new ConsoleError("notFound", `ClusterExtension ${name} does not exist`, { next: "Check the name in the list of extensions." });
}
