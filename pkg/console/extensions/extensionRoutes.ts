import * as z from "zod/mini";
import type { ObjectTree } from "../../consoleapi/objects.ts";
import type { ExtensionOverview } from "../../consoleapi/overview.ts";
import { readExtensionDescription } from "../../rollout/extensionDescription.ts";
import { readExtensionTree } from "../../rollout/objectTree.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { buildTreeView } from "./objectTreeView.ts";
import { buildOverview } from "./overview.ts";

const NameParams = z.object({ name: ObjectName });

/** Registers the routes of the overview and of the objects of an extension. */
export function registerExtensionRoutes(server: ConsoleRoutes, { session }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/extensions/:name/overview",
    schema: { params: NameParams },
    handler: async ({ identity: { client }, params: { name } }): Promise<ExtensionOverview> => {
      const now = Date.now();
      const extension = await requireExtension(client, name);
      return buildOverview(await readExtensionDescription(client, extension, { systemNamespace: session.systemNamespace, now }), now);
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/objects",
    schema: { params: NameParams },
    handler: async ({ identity: { client }, params: { name } }): Promise<ObjectTree> => {
      await requireExtension(client, name);
      return buildTreeView(await readExtensionTree(client, name, { systemNamespace: session.systemNamespace, now: Date.now() }));
    },
  });
}
