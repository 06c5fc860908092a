import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { parseYamlDocuments } from "../golang/yaml.ts";
import { REMOVAL_MS } from "./runSuite.ts";

const JOB = join(import.meta.dirname, "../../config/conformance/job.yaml");
/** Time to stop the steps and to print the report. */
const REPORT_MS = 20_000;

test("runSuite can remove the objects of its scenarios when the Pod of config/conformance is deleted", () => {
  const objects = parseYamlDocuments(readFileSync(JOB, "utf8")) as KubeObject[];
  const { spec } = objects.find(({ kind }) => kind === "Job") as unknown as {
    spec: { template: { spec: { terminationGracePeriodSeconds?: number } } };
  };
  const { terminationGracePeriodSeconds = 30 } = spec.template.spec;
  expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(REMOVAL_MS + REPORT_MS);
});
