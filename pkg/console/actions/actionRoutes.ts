import {
  type ActionAccess,
  ActionAccessQuery,
  ActionRequest,
  type ActionResult,
  type PreparedAction,
  RunAction,
} from "../../consoleapi/actions.ts";
import { isPassing } from "../../kube/errors.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { listNeededPermissions, offerForce, planChange } from "./planChange.ts";
import type { PlannedChange } from "./plannedChange.ts";
import { type ActionOwner, PreparedActions } from "./preparedActions.ts";
import { runChange } from "./runChange.ts";
import { requireSupported } from "./supportedActions.ts";
import { toPrepared, tryRequests } from "./tryRequests.ts";

/** Time for reads and dry runs together, in milliseconds; a rollback may pull a bundle. */
const PREPARE_TIMEOUT_MS = 120_000;
const READ_ONLY = "The console is read-only: it rejects all changes.";

/**
 * Registers the changes to the cluster: one request prepares a change and shows its exact requests, the other one sends exactly these requests, once,
 * with the identity of the caller.
 */
export function registerActionRoutes(server: ConsoleRoutes, { session, registry, log }: ConsoleContext): void {
  const prepared = new PreparedActions();

  server.route({
    method: "GET",
    url: "/api/actions/access",
    schema: { querystring: ActionAccessQuery },
    handler: async ({ identity, query: { action, extension } }): Promise<ActionAccess> => {
      const missing = await identity.access.findMissing(listNeededPermissions(action, extension));
      return missing === undefined ? {} : { missing };
    },
  });

  server.route({
    method: "POST",
    url: "/api/actions/prepare",
    schema: { body: ActionRequest },
    config: { timeoutMs: PREPARE_TIMEOUT_MS },
    handler: async ({ identity, deadline: signal, body }): Promise<PreparedAction> => {
      const now = new Date().toISOString();
      requireSupported(await identity.fields.read(), body);
      const { systemNamespace } = session;
      const change = await planChange({ client: identity.client, systemNamespace, registry, signal, now }, body);
      const action = await prepareChange(identity, change, { readOnly: session.readOnly, signal });
      if (action.rejected !== undefined || action.missing !== undefined) return action;
      const hasConflict = action.requests.some(({ dryRun }) => dryRun?.hasFieldConflict);
      const alternative = hasConflict ? offerForce(body) : undefined;
      const isAccepted = action.requests.every(({ dryRun }) => dryRun?.isOk !== false);
      const id = isAccepted ? prepared.add(await findOwner(identity), change) : "";
      return { ...action, ...(alternative ? { alternative } : {}), id };
    },
  });

  server.route({
    method: "POST",
    url: "/api/actions/run",
    schema: { body: RunAction },
    handler: async ({ identity, body }): Promise<ActionResult> => {
      if (session.readOnly) throw new ConsoleError("forbidden", READ_ONLY);
      const owner = await findOwner(identity);
      return prepared.run(owner, body, async (change) => {
        // Audit: which objects, never their content.
        const audit = { user: await identity.userName().catch(() => undefined), requests: change.requests.map(formatAudit) };
        try {
          const result = await runChange(identity.client, change);
          log.info({ ...audit, isOk: result.isOk }, "change sent");
          return result;
        } catch (err) {
          log.info({ ...audit, isOk: false }, "change failed");
          throw err;
        }
      });
    },
  });
}

function formatAudit({ method, path }: PlannedChange["requests"][number]): string {
  return `${method} ${path}`;
}

/** Checks a change: permissions first, then a dry run of each request. In read-only mode, the console sends no dry runs. */
async function prepareChange(
  { client, access }: Pick<ClusterIdentity, "client" | "access">,
  change: PlannedChange,
  { readOnly, signal }: { readonly readOnly: boolean; readonly signal: AbortSignal },
): Promise<PreparedAction> {
  const { title, effects, isDanger = false, command, requests, confirmation, choice } = change;
  const rejected = readOnly ? READ_ONLY : change.rejected;
  const missing = rejected === undefined ? await access.findMissing(requests.flatMap(({ permissions }) => permissions)) : undefined;
  const isTried = rejected === undefined && missing === undefined;
  return {
    id: "",
    title,
    effects: [...effects],
    isDanger,
    requests: isTried ? await tryRequests(client, requests, signal) : requests.map(toPrepared),
    ...(command === undefined ? {} : { command }),
    ...(confirmation === undefined ? {} : { confirmation }),
    ...(choice ? { choice } : {}),
    ...(missing === undefined ? {} : { missing }),
    ...(rejected === undefined ? {} : { rejected }),
  };
}

/** Returns the name of the user, so that a new token of the same user can run the change; else the identity. */
async function findOwner(identity: ClusterIdentity): Promise<ActionOwner> {
  try {
    return (await identity.userName()) ?? identity;
  } catch (err) {
    if (isPassing(err)) throw err;
    return identity;
  }
}
