import type { Condition } from "../../api/k8s.ts";

/** A condition as a pass sees it. */
export type ConditionVerdict = Pick<Condition, "type" | "status" | "reason" | "message">;
