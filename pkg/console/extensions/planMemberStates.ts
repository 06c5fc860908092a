import type { MoodText } from "../../consoleapi/live.ts";
import type { PlanMemberProgress } from "../../rollout/planProgress.ts";

/** The states of the bundles of a dependency plan, as pages show them. */
export const PLAN_MEMBER_STATES: Readonly<Record<PlanMemberProgress["state"], MoodText>> = {
  installed: { text: "installed", mood: "good" },
  waiting: { text: "waiting", mood: "warning" },
  blocked: { text: "not installed", mood: "bad" },
  notCreated: { text: "not created yet", mood: "faint" },
};
