import * as z from "zod/mini";
import type { ClusterUpgrade } from "../../consoleapi/clusterUpgrade.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { parseUpgradeTarget } from "../../openshift/upgradeCheck.ts";
import { readClusterVersion } from "../../operatorcontroller/openshift/clusterVersion.ts";
import { previewClusterUpgrade } from "../../preview/clusterUpgradePreview.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { describeCheck, describeCluster } from "./clusterUpgradeView.ts";

/** Registers what blocks the next minor version of OpenShift. */
export function registerClusterUpgradeRoutes(server: ConsoleRoutes, { session }: ConsoleContext): void {
  server.route({
    method: "GET",
    url: "/api/cluster-upgrade",
    schema: { querystring: z.object({ to: z.optional(z.string().check(z.maxLength(64))) }) },
    handler: async ({ identity: { client }, query }): Promise<ClusterUpgrade> => {
      const to = query.to?.trim() === "" ? undefined : query.to?.trim();
      const cluster = await readVersion(() => readClusterVersion(client));
      if (to !== undefined) requireTarget(to, cluster);
      if (to === undefined && cluster.kind !== "known") return { cluster: describeCluster(cluster) };
      const check = await previewClusterUpgrade(client, { systemNamespace: session.systemNamespace, to, cluster });
      return { cluster: describeCluster(cluster), check: describeCheck(check, to === undefined) };
    },
  });
}

async function readVersion(read: () => Promise<ClusterVersion>): Promise<ClusterVersion> {
  try {
    return await read();
  } catch (err) {
    return { kind: "unknown", reason: getErrorMessage(err) };
  }
}

/** @throws ConsoleError invalid if it is not a version, or lower than that of the cluster */
function requireTarget(to: string, cluster: ClusterVersion): void {
  try {
    parseUpgradeTarget(to, cluster);
  } catch (err) {
    throw new ConsoleError("invalid", getErrorMessage(err), { cause: err, next: "Enter a version such as 4.20." });
  }
}
