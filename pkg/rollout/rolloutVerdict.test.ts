import { expect, test } from "vitest";
import type { ClusterExtensionStatus } from "../api/clusterExtension.ts";
import type { Condition } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { evaluateRollout } from "./rolloutVerdict.ts";

const LACKING = newProblem("MissingPermissions", { message: "ServiceAccount n/a lacks permissions" });
const PENDING = newProblem("PermissionsPending", { message: "1 permission rule must be approved" });
const DENIED = newProblem("PermissionsDenied", { message: "the policy denies 1 permission rule" });
const condition = (type: string, status: Condition["status"], reason: string, message = "", observedGeneration = 2): Condition => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
  lastTransitionTime: "",
});
const ready = [condition("Progressing", "True", "Succeeded"), condition("Ready", "True", "Succeeded")];
const install = { bundle: { name: "p.v1.0.0", version: "1.0.0" } };
const plan = { digest: "sha256:1", bundle: install.bundle, create: 1, update: 0, delete: 0, unchanged: 0 };

test.for<[string, ClusterExtensionStatus | undefined, object, string]>([
  ["there is no status", undefined, {}, "waiting"],
  ["it is ready", { conditions: ready, install }, {}, "ready"],
  ["it was ready before the change", { conditions: ready, install }, { generation: 3 }, "waiting"],
  ["another bundle is ready", { conditions: ready, install }, { bundle: "p.v2.0.0" }, "waiting"],
  ["the bundle is ready", { conditions: ready, install }, { bundle: "p.v1.0.0" }, "ready"],
  [
    "it is rolling out",
    { conditions: [condition("Progressing", "True", "RollingOut"), condition("Ready", "False", "RollingOut")] },
    {},
    "waiting",
  ],
  ["it is retried", { conditions: [condition("Progressing", "True", "Retrying", "no bundles found")] }, {}, "waiting"],
  [
    "permissions are missing",
    { conditions: [condition("Progressing", "True", "Retrying")], problems: [LACKING] },
    {},
    "missingPermissions",
  ],
  [
    "permissions wait for approval",
    { conditions: [condition("Progressing", "True", "Retrying")], problems: [PENDING] },
    {},
    "permissionApproval",
  ],
  [
    "permissions were approved",
    { conditions: [condition("Progressing", "True", "Retrying")], problems: [PENDING] },
    { hasApprovedPermissions: true },
    "waiting",
  ],
  ["a policy denies permissions", { conditions: [condition("Progressing", "True", "Retrying")], problems: [DENIED] }, {}, "failed"],
  ["it is blocked", { conditions: [condition("Progressing", "False", "Blocked")] }, {}, "failed"],
  ["it was blocked before the change", { conditions: [condition("Progressing", "False", "Blocked", "", 1)] }, {}, "waiting"],
  ["its configuration is wrong", { conditions: [condition("Progressing", "False", "InvalidConfiguration")] }, {}, "failed"],
  ["its dependencies are being installed", { conditions: [condition("Progressing", "False", "UnsatisfiedDependencies")] }, {}, "waiting"],
  ["it waits for approval", { conditions: [condition("Progressing", "False", "AwaitingApproval")], plan }, {}, "approval"],
  [
    "its plan was approved",
    { conditions: [condition("Progressing", "False", "AwaitingApproval")], plan },
    { approved: "sha256:1" },
    "waiting",
  ],
  [
    "another plan was approved",
    { conditions: [condition("Progressing", "False", "AwaitingApproval")], plan },
    { approved: "sha256:2" },
    "approval",
  ],
  ["it was ready before the request", { conditions: ready, install, lastHandledReconcileAt: "1" }, { request: "2" }, "waiting"],
  ["it is ready after the request", { conditions: ready, install, lastHandledReconcileAt: "2" }, { request: "2" }, "ready"],
  ["it was blocked before the request", { conditions: [condition("Progressing", "False", "Blocked")] }, { request: "2" }, "waiting"],
  [
    "it is suspended and does not handle requests",
    { conditions: [condition("Progressing", "False", "Suspended")] },
    { request: "2" },
    "failed",
  ],
])("evaluateRollout returns the state when %s", ([, status, awaited, want]) => {
  expect(evaluateRollout(status ? { status } : {}, { generation: 2, ...awaited }).kind).toBe(want);
});
