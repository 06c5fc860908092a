import { groupOf } from "../../api/k8s.ts";
import { newProblem, type Problem, type ProblemObject, toProblemObject } from "../../api/problems.ts";
import { formatExceededQuota } from "../../release/quota.ts";
import { ruleDetails } from "../permissions/permissions.ts";
import { failureProblems } from "./applier.ts";
import type { PreflightFinding } from "./preflightRequest.ts";

/** Returns the problems that a finding becomes in `status.problems`. */
export function problemsFrom(finding: PreflightFinding): readonly Problem[] {
  const { message, next } = finding;
  switch (finding.kind) {
    case "kindNotServed":
      return [newProblem("KindNotServed", { message, next, details: finding.kinds.map(kindOf) })];
    case "permissions":
      return [newProblem("MissingPermissions", { message, next, details: ruleDetails(finding.rules) })];
    case "read":
      return [newProblem("ObjectRejected", { message, next, details: finding.object ? [toProblemObject(finding.object)] : [] })];
    case "ownership":
      return [newProblem("ObjectConflict", { message, next, details: [{ ...toProblemObject(finding.object), owner: finding.claim }] })];
    case "kindConflict":
      return [
        newProblem("KindConflict", {
          message,
          next,
          details: [{ group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", name: finding.crd }],
        }),
      ];
    case "crdUpgrade":
      return [newProblem("CRDUpgradeUnsafe", { message, next, details: finding.crds.flatMap(crdDetails) })];
    case "namespace":
      return [newProblem("NamespaceNotFound", { message, next, details: [finding.namespace] })];
    case "dryRun":
      return failureProblems({ item: finding.object, err: finding.error });
    case "quota":
      return [
        newProblem("QuotaExceeded", {
          message,
          next,
          details: [{ namespace: finding.namespace, name: finding.name, message: formatExceededQuota(finding) }],
        }),
      ];
    case "conversion":
      return [newProblem("ConversionNeeded", { message, next, details: finding.crds.map((name) => ({ name, message })) })];
    default:
      return finding satisfies never;
  }
}

function kindOf({ apiVersion, kind }: Extract<PreflightFinding, { kind: "kindNotServed" }>["kinds"][number]): ProblemObject {
  const group = groupOf(apiVersion);
  return { ...(group === "" ? {} : { group }), kind };
}

function crdDetails({ name, findings, refusals }: Extract<PreflightFinding, { kind: "crdUpgrade" }>["crds"][number]) {
  return [...findings.map(({ check, text }) => ({ name, check, message: text })), ...refusals.map((text) => ({ name, message: text }))];
}
