import * as z from "zod/mini";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ExtensionPlan } from "../../consoleapi/plan.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { UnresolvedError } from "../../operatorcontroller/reconcile/resolve.ts";
import { readExtensionPlan } from "../../preview/extensionPlan.ts";
import type { SourceChange } from "../../rollout/sourceChange.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import { isOtherOlm } from "../cluster/extensionFields.ts";
import { type ConsoleContext, withPlanReader } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { SharedWorks } from "../http/sharedWork.ts";
import { LimitsQuery, parseLimits } from "../why/sourceLimits.ts";
import { readTriedPlan } from "./planActions.ts";
import { buildExtensionPlan, buildStatusPlan } from "./planView.ts";

/** Time for all pulls, reads and dry runs together, in milliseconds. */
const TIMEOUT_MS = 10 * 60_000;

/** Registers the plan of an extension: what its next change, or a chosen version, would do. Stores nothing in the cluster. */
export function registerPlanRoutes(server: ConsoleRoutes, context: ConsoleContext): void {
  const works = new SharedWorks<ExtensionPlan>();
  server.route({
    method: "GET",
    url: "/api/extensions/:name/plan",
    schema: { params: z.object({ name: ObjectName }), querystring: LimitsQuery },
    config: { timeoutMs: TIMEOUT_MS },
    handler: async ({ identity, deadline, params: { name }, query }): Promise<ExtensionPlan> => {
      const [extension, served] = await Promise.all([requireExtension(identity.client, name), identity.fields.read()]);
      const change = parseLimits(query);
      const key = JSON.stringify([extension.metadata.uid, extension.metadata.resourceVersion, change]);
      return works
        .of(identity)
        .run(key, deadline, (work) =>
          computePlan(context, identity.client, { extension, change, isOtherOlm: isOtherOlm(served), signal: work }),
        );
    },
  });
}

/** What a plan is computed for. */
interface PlanWork {
  readonly extension: ClusterExtension;
  readonly change: SourceChange;
  readonly isOtherOlm: boolean;
  readonly signal: AbortSignal;
}

async function computePlan(
  context: ConsoleContext,
  client: Client,
  { extension, change, isOtherOlm: isOther, signal }: PlanWork,
): Promise<ExtensionPlan> {
  const { search, session, log } = context;
  const { choice, desired } = chooseSource(extension, change, isOther);
  const { apiVersion, kind, metadata, spec } = desired;
  const given = choice.isChanged ? { apiVersion, kind, metadata: { name: metadata.name }, spec } : extension;
  try {
    const plan = await withPlanReader(context, signal, (reader) =>
      readExtensionPlan({
        client,
        given,
        reader,
        search,
        systemNamespace: session.systemNamespace,
        webhookCertProvider: "auto",
        proxySettings: { mode: "auto", given: {} },
        log,
        signal,
      }),
    );
    return buildExtensionPlan(plan, extension, choice, new Date().toISOString());
  } catch (cause) {
    const known = isDeniedRead(cause) ? buildStatusPlan(extension, choice, getErrorMessage(cause), new Date().toISOString()) : undefined;
    if (known) return known;
    if (!(cause instanceof UnresolvedError)) throw cause;
    throw new ConsoleError("notFound", `cannot plan the change: no bundle is selected: ${getErrorMessage(cause)}`, {
      cause,
      next: "The tab about versions shows which rule excludes each version.",
    });
  }
}

/** Whether the API server denied a read, according to an error or its causes. */
function isDeniedRead(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause) if (isForbidden(e)) return true;
  return false;
}

function chooseSource(extension: ClusterExtension, change: SourceChange, isOther: boolean): ReturnType<typeof readTriedPlan> {
  try {
    return readTriedPlan(extension, change, isOther);
  } catch (cause) {
    throw new ConsoleError("invalid", getErrorMessage(cause), { cause });
  }
}
