import * as z from "zod/mini";
import { UninstallPolicy } from "../../consoleapi/actions.ts";
import type { Leftovers, UninstallView } from "../../consoleapi/uninstall.ts";
import { listInstallObjects } from "../../installer/installerObjects.ts";
import { previewUninstall } from "../../installer/uninstallPreview.ts";
import { buildExtensionRef } from "../../rollout/extensions.ts";
import { requireExtension } from "../actions/plannedChange.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { createRequestSignal } from "../http/requestSignal.ts";
import { buildUninstallView, listLeftovers } from "./uninstallView.ts";

const TIMEOUT_MS = 60_000;

/** Registers the preview of an uninstall. Writes nothing. */
export function registerUninstallRoutes(server: ConsoleRoutes, { callers, session }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/extensions/:name/uninstall",
    schema: { params: z.object({ name: ObjectName }), querystring: z.object({ crdPolicy: z.optional(UninstallPolicy) }) },
    handler: async (request, reply): Promise<UninstallView> => {
      const { client } = callers.identify(request.headers);
      const { name } = request.params;
      const { crdPolicy } = request.query;
      const signal = createRequestSignal(reply, TIMEOUT_MS);
      const current = await requireExtension(client, name, signal);
      const options = {
        ...(crdPolicy ? { crdPolicy } : {}),
        systemNamespace: session.systemNamespace,
        withDependents: true,
        isPartial: true,
      };
      const { extension = current, ...preview } = await previewUninstall(client, name, options, signal);
      return buildUninstallView({ ...preview, extension }, crdPolicy);
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/leftovers",
    schema: { params: z.object({ name: ObjectName }) },
    handler: async (request): Promise<Leftovers> => {
      const { client } = callers.identify(request.headers);
      const { name } = request.params;
      if (await client.get(buildExtensionRef(name), { metadataOnly: true })) return { objects: [] };
      return { objects: listLeftovers(await listInstallObjects(client, name)) };
    },
  });
}
