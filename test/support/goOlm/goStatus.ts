import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { Condition } from "../../../pkg/api/k8s.ts";

type ConditionText = readonly [status: Condition["status"], reason: string, message: string];

const NOT_DEPRECATED = { Deprecated: "", PackageDeprecated: "", ChannelDeprecated: "", BundleDeprecated: "" };
const TIME = "2026-11-21T11:52:07Z";

/** The bundle of a release. */
export interface GoBundle {
  readonly name: string;
  readonly version: string;
  readonly image: string;
}

/**
 * Returns the status that the Go operator-controller writes: its conditions and the installed bundle, and nothing else.
 * @param progressing why the last attempt failed; undefined if it succeeded
 * @see operator-controller 2ca03503 internal/operator-controller/controllers/common_controller.go
 */
export function buildGoStatus(
  installed: GoBundle | undefined,
  progressing?: { readonly reason: "Retrying" | "Blocked"; readonly message: string },
): NonNullable<ClusterExtension["status"]> {
  const conditions: Readonly<Record<string, ConditionText>> = {
    ...Object.fromEntries(
      Object.keys(NOT_DEPRECATED).map((type): [string, ConditionText] => [type, ["False", "NotDeprecated", "not deprecated"]]),
    ),
    Installed: installed
      ? ["True", "Succeeded", `Installed bundle ${installed.image} successfully`]
      : ["False", "Failed", "No bundle installed"],
    Progressing: progressing
      ? [progressing.reason === "Blocked" ? "False" : "True", progressing.reason, progressing.message]
      : ["True", "Succeeded", "Desired state reached"],
  };
  return {
    conditions: Object.entries(conditions).map(([type, [status, reason, message]]) => ({
      type,
      status,
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: TIME,
    })),
    ...(installed ? { install: { bundle: { name: installed.name, version: installed.version } } } : {}),
  };
}
