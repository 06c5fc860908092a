import { getNamespace } from "../../api/clusterExtension.ts";
import { LABEL_BUNDLE_NAME } from "../../api/constants.ts";
import { getGroup, type KubeObject } from "../../api/k8s.ts";
import { isMigrated } from "../../api/migration.ts";
import { OPERATOR_CONDITION, OPERATOR_CONDITION_VARIABLE } from "../../api/operatorCondition.ts";
import type { DeploymentSpec } from "../../bundle/types.ts";
import { findLastDeployed, type ReleaseRecord } from "../../release/record.ts";
import type { OperatorConditionUse } from "../../render/operatorCondition.ts";
import { isInstalled, type WithBundle } from "./phases.ts";

/** Inputs for the use of the OperatorCondition of an extension. */
export type OperatorConditionInputs = Pick<WithBundle, "extension" | "conditionSupport" | "foreignConditions" | "releases" | "bundle">;

/**
 * Returns what the bundle of an extension gets for its OperatorCondition:
 *
 * | deployed release                                      | the cluster serves the kind | use      |
 * | none, of an extension that was converted from OLM v0   | any                         | None     |
 * | none, and OLM v0 left the OperatorCondition           | any                         | None     |
 * | none, or another bundle                               | yes                         | All      |
 * | none, or another bundle                               | no                          | None     |
 * | the same bundle, with all                             | yes, or unknown             | All      |
 * | the same bundle, with all or the variable              | no                          | Variable |
 * | the same bundle, with the variable                    | unknown                     | Variable |
 * | the same bundle, with the variable                    | yes                         | All      |
 * | the same bundle, without                              | any                         | None     |
 * | another bundle, with all                              | unknown                     | All      |
 *
 * A missing permission counts as unknown. An installed bundle does not get the variable before its next upgrade, and does not lose it, because that would replace its Pods. The first release
 * leaves the OperatorCondition of OLM v0 unchanged, because its Role has another controller.
 */
export function chooseOperatorCondition(inputs: OperatorConditionInputs): OperatorConditionUse {
  const { conditionSupport: support, extension, releases, bundle, foreignConditions } = inputs;
  const base = findLastDeployed(releases.history.current);
  if (!base && (isMigrated(extension) || foreignConditions.has(`${getNamespace(extension)}/${bundle.name}`))) return "None";
  const before = base ? readUse(base) : "None";
  const isUnclear = support === "Unknown" || support === "NotPermitted";
  if (!base || !isInstalled(inputs)) return support === "Served" || (isUnclear && before === "All") ? "All" : "None";
  if (before === "None" || isUnclear) return before;
  return support === "Served" ? "All" : "Variable";
}

/** Returns the OperatorCondition of a release. */
export function findOperatorCondition(objects: readonly KubeObject[]): KubeObject | undefined {
  const group = getGroup(OPERATOR_CONDITION.apiVersion);
  return objects.find(({ apiVersion, kind }) => kind === OPERATOR_CONDITION.kind && getGroup(apiVersion) === group);
}

/** Reads from a release what its bundle got. A variable with another value does not come from this controller. */
function readUse({ objects, labels }: ReleaseRecord): OperatorConditionUse {
  if (findOperatorCondition(objects)) return "All";
  return objects.some((object) => hasVariable(object, labels[LABEL_BUNDLE_NAME])) ? "Variable" : "None";
}

function hasVariable(object: KubeObject, value: string | undefined): boolean {
  if (object.kind !== "Deployment") return false;
  const { containers = [] } = (object["spec"] as DeploymentSpec | undefined)?.template.spec ?? {};
  return (containers ?? []).some(({ env = [] }) =>
    env.some((variable) => variable.name === OPERATOR_CONDITION_VARIABLE && variable["value"] === value),
  );
}
