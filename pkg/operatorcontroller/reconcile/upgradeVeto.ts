import { getNamespace } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import { isMigrated } from "../../api/migration.ts";
import { newProblem } from "../../api/problems.ts";
import { goQuote } from "../../golang/quote.ts";
import { findLastDeployed } from "../../release/record.ts";
import { formatUpgradeable, isVeto, type UpgradeableReport } from "../../release/upgradeVeto.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";
import { findOperatorCondition } from "../state/operatorConditionUse.ts";
import { isInstalled, keepsEarlierRelease, type ReconcileStep, type Unpacked, type WithBundle } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** The namespace and name of an OperatorCondition. */
interface ConditionName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Returns the OperatorCondition that may hold the next step of an extension; undefined if nothing holds it:
 *
 * | the next step                              | OperatorCondition                        |
 * | first install, or the installed bundle     | undefined                                |
 * | rollback, or the earlier release is kept   | undefined                                |
 * | an upgrade that has begun                  | undefined: it must be completed          |
 * | an upgrade, approved or not                | of the installed operator                |
 *
 * Without one in the release, it is the OperatorCondition that OLM v0 created for the same bundle.
 */
export function findVetoSource(
  phase: Pick<WithBundle, "extension" | "releases" | "bundle" | "pinned" | "held">,
): ConditionName | undefined {
  const { extension, releases } = phase;
  const [latest] = releases.history.current;
  const base = findLastDeployed(releases.history.current);
  if (!base || base !== latest || isInstalled(phase) || keepsEarlierRelease(phase)) return undefined;
  const found = findOperatorCondition(base.objects)?.metadata;
  const name = found?.name ?? releases.installed?.name;
  return name === undefined ? undefined : { namespace: found?.namespace ?? getNamespace(extension), name };
}

/** Describes why an upgrade is held. */
export function describeVeto(bundle: string, ref: ConditionName, report: UpgradeableReport): string {
  return `bundle ${goQuote(bundle)} is not installed: ${formatUpgradeable(ref, report)}`;
}

/** Reports whether the installed operator has an OperatorCondition: that of its release, or that of OLM v0 after a conversion. */
function hasOperatorCondition({ extension, releases }: Pick<WithBundle, "extension" | "releases">): boolean {
  const base = findLastDeployed(releases.history.current);
  return isMigrated(extension) || (base !== undefined && findOperatorCondition(base.objects) !== undefined);
}

/**
 * Holds an upgrade while the installed operator does not allow it in its OperatorCondition, or while the controller cannot read the OperatorCondition.
 * The change of the OperatorCondition causes the next reconcile. Drift of the installed objects is still corrected.
 * @throws WaitingError NotUpgradeable with the reason and message of the operator, or why they are unknown
 */
export function holdVetoedUpgrade({ operatorConditions }: Pick<Services, "operatorConditions">): ReconcileStep<Unpacked> {
  return {
    name: "HoldVetoedUpgrade",
    run(phase) {
      const ref = findVetoSource(phase);
      const report = ref && operatorConditions.find(ref.namespace, ref.name);
      const { unknownReason } = operatorConditions;
      const isUnknown = ref !== undefined && unknownReason !== undefined && hasOperatorCondition(phase);
      if (isUnknown && !(report && isVeto(report))) {
        const message = `bundle ${goQuote(phase.bundle.name)} is not installed: cannot read whether the installed operator allows its upgrade: ${unknownReason}`;
        const isOver = (): Promise<boolean> => Promise.resolve(operatorConditions.unknownReason !== unknownReason);
        return Promise.reject(hold(message, isOver));
      }
      if (!report || !isVeto(report)) return Promise.resolve(phase);
      const message = describeVeto(phase.bundle.name, ref, report);
      const next = `kubectl describe operatorconditions.operators.coreos.com ${ref.name} --namespace ${ref.namespace}`;
      const isOver = (): Promise<boolean> => {
        const now = operatorConditions.find(ref.namespace, ref.name);
        return Promise.resolve(!now || !isVeto(now));
      };
      return Promise.reject(hold(message, isOver, next));
    },
  };
}

function hold(message: string, isOver: UnblockCheck, next?: string): WaitingError {
  return new WaitingError(Reason.NotUpgradeable, message, { isOver, problems: [newProblem("NotUpgradeable", { message, next })] });
}
