import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import type { FindingsSummary } from "./store/findingsSummary.ts";

const SOUND = "no errors were found in the content that is served";

/** Condition Valid of a catalog whose content was checked. @param base URL below which the content is served; the findings are at `<base>/findings`. */
export function validity(
  { errors, warnings, first }: FindingsSummary,
  base: string,
): Pick<Condition, "type" | "status" | "reason" | "message"> {
  const type = ConditionType.Valid;
  if (errors === 0 && warnings === 0) return { type, status: "True", reason: Reason.Valid, message: SOUND };
  const list = [`all at ${base}/findings; the first:`, ...first].join("\n");
  if (errors === 0)
    return { type, status: "True", reason: Reason.Valid, message: `${SOUND}, but ${counted(warnings, "warning")}; ${list}` };
  return {
    type,
    status: "False",
    reason: Reason.InvalidContent,
    message: `${countsText({ errors, warnings })} in the content that is served; ${list}`,
  };
}

/** Such as "2 errors and 1 warning". */
export function countsText({ errors, warnings }: Pick<FindingsSummary, "errors" | "warnings">): string {
  return `${counted(errors, "error")}${warnings > 0 ? ` and ${counted(warnings, "warning")}` : ""}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
