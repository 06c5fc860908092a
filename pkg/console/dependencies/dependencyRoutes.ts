import type { DependencyMap } from "../../consoleapi/dependencies.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { type ServedResource, ServedResources } from "../../kube/servedResources.ts";
import { ConstraintCache, loadCelRules } from "../../operatorcontroller/dependencies/constraintCache.ts";
import { listInstalledRequirements } from "../../resolve/dependencies/requirementMap.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { listCurrentExtensions } from "../cluster/currentObjects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { buildDependencies } from "./dependencyView.ts";
import { InstalledMemberReader } from "./installedMembers.ts";

/** Registers the dependencies between the extensions of the cluster. */
export function registerDependencyRoutes(server: ConsoleRoutes, { session }: ConsoleContext): void {
  const constraints = new ConstraintCache(loadCelRules);
  const reader = new InstalledMemberReader(session.systemNamespace, constraints);
  server.route({
    method: "GET",
    url: "/api/dependencies",
    handler: async ({ identity, deadline }): Promise<DependencyMap> => {
      const extensions = await listCurrentExtensions(identity, deadline);
      const { members, unknown } = await reader.read(identity, extensions, deadline);
      const hasRequirements = members.some(({ declared }) => declared.constraints.length > 0);
      const served = hasRequirements ? await readServed(identity, deadline) : [];
      const isServedKnown = typeof served !== "string";
      const world = { installed: members, served: isServedKnown ? served : [] };
      const requirements = constraints.bounded(() => listInstalledRequirements(world));
      return buildDependencies({ extensions, requirements, isServedKnown, unknown: isServedKnown ? unknown : [served, ...unknown] });
    },
  });
}

/** Returns the APIs that the cluster serves, or why they are unknown, as a sentence. */
async function readServed({ client }: ClusterIdentity, signal: AbortSignal): Promise<readonly ServedResource[] | string> {
  try {
    return await new ServedResources(client).read(signal);
  } catch (err) {
    signal.throwIfAborted();
    return `The APIs of the cluster cannot be read: ${truncate(getErrorMessage(err), CAUSE_LENGTH)}.`;
  }
}
