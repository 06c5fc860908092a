import * as z from "zod/mini";
import type { ExtensionHistory, RevisionComparison } from "../../consoleapi/history.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isPassing } from "../../kube/errors.ts";
import { readDriftReport } from "../../rollout/driftReport.ts";
import { hasForeignStatus, NOT_REPORTED } from "../../rollout/extensionState.ts";
import { compareReleases } from "../../rollout/releaseComparison.ts";
import { readReleaseRows } from "../../rollout/releaseHistory.ts";
import { redactSecrets } from "../../text/redact.ts";
import { requireExtension } from "../actions/plannedChange.ts";
import { supportsAction } from "../actions/supportedActions.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { buildComparison, buildDrift, buildReleases } from "./historyView.ts";

const Params = z.object({ name: ObjectName });
const RevisionNumber = z.pipe(z.string().check(z.regex(/^[1-9]\d{0,8}$/)), z.transform(Number));

/** Registers the releases of an extension, their differences, and its drift. Writes nothing. */
export function registerHistoryRoutes(server: ConsoleRoutes, { callers, session: { systemNamespace } }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/extensions/:name/history",
    schema: { params: Params },
    handler: async (request): Promise<ExtensionHistory> => {
      const { client, fields } = callers.identify(request.headers);
      const [extension, served] = await Promise.all([requireExtension(client, request.params.name), fields.read()]);
      const options = { canRollBack: supportsAction(served, "rollBack"), systemNamespace };
      const [releases, drift] = await Promise.all([
        orError(readReleaseRows(client, extension, systemNamespace).then((rows) => buildReleases(rows, extension, options))),
        hasForeignStatus(extension)
          ? { note: `Drift is ${NOT_REPORTED}.` }
          : orError(readDriftReport(client, extension, systemNamespace).then((report) => buildDrift(report, extension))),
      ]);
      return { releases, drift };
    },
  });

  server.route({
    method: "GET",
    url: "/api/extensions/:name/history/comparison",
    schema: { params: Params, querystring: z.object({ from: RevisionNumber, to: RevisionNumber }) },
    handler: async (request): Promise<RevisionComparison> => {
      const { client } = callers.identify(request.headers);
      const extension = await requireExtension(client, request.params.name);
      const comparison = await compareReleases(client, extension, systemNamespace, request.query);
      if (typeof comparison === "number")
        throw new ConsoleError("notFound", `revision ${comparison} is not stored any more`, { next: "Choose a revision in the list." });
      return buildComparison(comparison);
    },
  });
}

/** A part that cannot be read hides only itself; a server that does not respond fails the request. */
async function orError<T>(reading: Promise<T>): Promise<T | { error: string }> {
  try {
    return await reading;
  } catch (err) {
    if (isPassing(err)) throw err;
    return { error: redactSecrets(getErrorMessage(err)) };
  }
}
