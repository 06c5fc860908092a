import * as z from "zod/mini";
import { UninstallPolicy } from "../../consoleapi/actions.ts";
import type { Leftovers, UninstallView } from "../../consoleapi/uninstall.ts";
import { listInstallObjects } from "../../installer/installerObjects.ts";
import { previewUninstall } from "../../installer/uninstallPreview.ts";
import { buildExtensionRef } from "../../rollout/extensions.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { buildUninstallView, listLeftovers } from "./uninstallView.ts";

/** Registers the preview of an uninstall. Writes nothing. */
export function registerUninstallRoutes(server: ConsoleRoutes, { session }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/extensions/:name/uninstall",
    schema: { params: z.object({ name: ObjectName }), querystring: z.object({ crdPolicy: z.optional(UninstallPolicy) }) },
    handler: async ({ identity: { client }, deadline, params: { name }, query: { crdPolicy } }): Promise<UninstallView> => {
      const current = await requireExtension(client, name, deadline);
      const options = {
        ...(crdPolicy ? { crdPolicy } : {}),
        systemNamespace: session.systemNamespace,
        withDependents: true,
        isPartial: true,
      };
      const { extension = current, ...preview } = await previewUninstall(client, name, options, deadline);
      return buildUninstallView({ ...preview, extension }, crdPolicy);
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/leftovers",
    schema: { params: z.object({ name: ObjectName }) },
    handler: async ({ identity: { client }, params: { name } }): Promise<Leftovers> => {
      if (await client.get(buildExtensionRef(name), { metadataOnly: true })) return { objects: [] };
      return { objects: listLeftovers(await listInstallObjects(client, name)) };
    },
  });
}
