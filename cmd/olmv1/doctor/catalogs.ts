import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { findCondition } from "../../../pkg/api/conditions.ts";
import { ageText } from "../extension/age.ts";
import type { DoctorFacts } from "./facts.ts";
import { about, type Finding } from "./finding.ts";

/** Whether there are catalogs, each is served, and what came of the last look for new content. */
export function checkCatalogs({ catalogs, now }: DoctorFacts): Finding[] {
  return about("catalogs", catalogs, (all): Finding[] => {
    if (all.length > 0) return all.map((catalog) => catalogFinding(catalog, now));
    const next = "kubectl apply -f config/samples/clustercatalog.yaml";
    return [{ check: "catalogs", status: "warning", message: "there is none, so that nothing can be installed", next }];
  });
}

function catalogFinding({ metadata, spec, status }: ClusterCatalog, now: number): Finding {
  const check = `ClusterCatalog ${metadata.name}`;
  const next = `kubectl describe clustercatalog ${metadata.name}`;
  if (spec.availabilityMode === "Unavailable") return { check, status: "ok", message: "not served, as its spec says" };
  const serving = findCondition(status?.conditions, "Serving");
  const progressing = findCondition(status?.conditions, "Progressing");
  if (serving?.status !== "True") {
    const why = progressing?.message ?? serving?.message ?? "catalogd has not looked at it yet";
    return { check, status: "problem", message: `it is not served: ${why}`, next };
  }
  const content = `content of ${ageText(status?.lastUnpacked, now)} ago`;
  if (progressing && progressing.reason !== "Succeeded")
    return { check, status: "warning", message: `served, with ${content}, but not updated: ${progressing.message}`, next };
  const valid = findCondition(status?.conditions, "Valid");
  if (valid?.status === "False")
    return { check, status: "warning", message: `served, with ${content} and errors in it: ${valid.message}`, next };
  const minutes = spec.source.image?.pollIntervalMinutes;
  return { check, status: "ok", message: `served, with ${content}${minutes === undefined ? "" : `, looked up every ${minutes} min`}` };
}
