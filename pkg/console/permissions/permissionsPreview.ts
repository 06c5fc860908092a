import type { PermissionsPreview } from "../../consoleapi/rules.ts";
import { describePermissionDecision } from "../../permissions/permissionDecision.ts";
import type { PermissionPreview } from "../../preview/permissionPreview.ts";
import { describePolicyGap } from "../../rollout/extensionPermissions.ts";
import { placeRules } from "../../rollout/placedRules.ts";
import { toSentence } from "../../text/sentence.ts";
import { buildRuleList, toShownRules } from "./ruleRows.ts";

/** Describes what permission-manager would decide about a bundle. */
export function buildPermissionsPreview(preview: PermissionPreview): PermissionsPreview {
  const { policy, account, state, added, removed, pendingDigest } = preview;
  return {
    state,
    sentences: [...describePermissionDecision(preview), ...describePolicyGap(policy)].map((text) => toSentence(text)),
    policy: policy.name,
    account: `${account.namespace}/${account.name}`,
    added: buildRuleList(toShownRules(added)),
    removed: buildRuleList(placeRules(removed)),
    ...(pendingDigest === undefined ? {} : { pendingDigest }),
  };
}
