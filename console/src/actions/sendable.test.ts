import { expect, test } from "vitest";
import type { PreparedAction } from "../../../pkg/consoleapi/actions.ts";
import { RequestError } from "../api/request.ts";
import { isSendable } from "./sendable.ts";
import type { ActionState } from "./useAction.ts";

/** Returns a change with a confirmation and two requests: without a dry run, because a webhook does not support it, and with the given result. */
function createPrepared(isOk: boolean, id = "1"): PreparedAction {
  const request = { method: "PATCH", path: "/a", description: "patch" };
  const requests = [request, { ...request, path: "/b", dryRun: { isOk, message: "", warnings: [] } }];
  return { id, title: "Uninstall?", effects: [], isDanger: true, confirmation: "argocd", requests };
}

const ACCEPTED = createPrepared(true);
const LOST = new RequestError({ kind: "disconnected", message: "lost" });

test.for<[what: string, state: ActionState, expected: boolean]>([
  ["is being prepared", { step: "preparing" }, false],
  ["was accepted", { step: "prepared", prepared: ACCEPTED }, true],
  ["has a dry run that failed", { step: "prepared", prepared: createPrepared(false) }, false],
  ["was rejected by the console", { step: "prepared", prepared: createPrepared(true, "") }, false],
  ["failed without a response", { step: "failed", prepared: ACCEPTED, error: LOST }, true],
  ["failed without a response after a dry run that failed", { step: "failed", prepared: createPrepared(false), error: LOST }, false],
  ["failed", { step: "failed", prepared: ACCEPTED, error: new RequestError({ kind: "conflict", message: "changed" }) }, false],
  ["was sent", { step: "sent", prepared: ACCEPTED, result: { isOk: true, results: [] } }, false],
])("isSendable decides whether Enter and the button send a change that %s", ([, state, expected]) => {
  expect(isSendable(state)).toBe(expected);
});
