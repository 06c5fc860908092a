import { getNamespace } from "../../api/clusterExtension.ts";
import { OPERATOR_CONDITIONS } from "../../api/operatorCondition.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { type Grant, intersects, toRule } from "../../rbac/policyRule.ts";
import { chooseOperatorCondition, type OperatorConditionInputs } from "../state/operatorConditionUse.ts";
import { listScopeRules } from "./ownRules.ts";

/** Every operator has Deployments: an identity without permission to create them was not prepared yet, and must get all permissions. */
const DEPLOYMENTS = { group: "apps", resource: "deployments" } as const;

/**
 * Returns the phase without a new OperatorCondition if the client's identity may create Deployments but no OperatorConditions. This lets a
 * ServiceAccount that was prepared for the Go implementation install the bundle on a cluster with OLM v0, which serves the kind. Sends one request if
 * the bundle would get its first OperatorCondition, and none otherwise. Does not limit identities whose rules the API server cannot list.
 */
export async function limitOperatorCondition<P extends OperatorConditionInputs>(
  phase: P,
  client: Pick<Client, "raw">,
  signal: AbortSignal,
): Promise<P> {
  const limited: P = { ...phase, conditionSupport: "NotPermitted" };
  if (chooseOperatorCondition(phase) !== "All" || chooseOperatorCondition(limited) === "All") return phase;
  const { rules, incomplete } = await listScopeRules(client, getNamespace(phase.extension), signal);
  const mayCreate = (grant: Omit<Grant, "verb">): boolean => rules.some((rule) => intersects(rule, toRule({ ...grant, verb: "create" })));
  const isLimited = !incomplete && mayCreate(DEPLOYMENTS) && !mayCreate({ ...OPERATOR_CONDITIONS, name: phase.bundle.name });
  return isLimited ? limited : phase;
}

/** Formats what the user has to know if a bundle is installed without OperatorCondition because of a missing permission. */
export function formatConditionLimit({ extension, bundle }: Pick<OperatorConditionInputs, "extension" | "bundle">): string {
  const account = `${getNamespace(extension)}/${extension.spec.serviceAccount?.name ?? ""}`;
  return `ServiceAccount ${account} may not create OperatorConditions, so bundle ${goQuote(bundle.name)} gets none. An operator that needs one may fail to start. To grant the permissions, use olmv1 rbac with --operator-condition`;
}
