import { messageOf } from "../errors/errors.ts";
import type { ResolutionRecord } from "../resolve/resolutionRecord.ts";
import type { Page } from "../serving/metricsServer.ts";
import type { OperatorController } from "./operatorController.ts";

/** Where the record of a resolution is served, with the name of the ClusterExtension behind it. */
const PREFIX = "/debug/resolution/";

/** How the resolution of a ClusterExtension goes, as JSON: 404 where there is no such extension, 503 from a replica that does not lead, and while it cannot be found out. */
export function resolutionPage(controller: Pick<OperatorController, "ready" | "resolutionOf">, leads: () => boolean): Page {
  return {
    prefix: PREFIX,
    answer: async (name, signal) => {
      if (!leads() || !controller.ready)
        return { status: 503, text: "this replica does not lead, or has only just begun to: ask another one" };
      let record: ResolutionRecord | undefined;
      try {
        record = await controller.resolutionOf(name, signal);
      } catch (err) {
        return { status: 503, text: `not known right now: ${messageOf(err)}` };
      }
      return record ? { json: record } : { status: 404, text: `there is no ClusterExtension "${name}" with spec.source.catalog` };
    },
  };
}
