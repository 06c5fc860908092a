import { expect, test } from "vitest";
import { isMinorField } from "./minorFields.ts";

test.for([
  ['metadata.labels["olm.operatorframework.io/bundle-version"]', true],
  ["metadata.annotations.checksum", true],
  ["spec.template.metadata.annotations.alm-examples", true],
  ['spec.template.metadata.annotations["olm.properties"]', true],
  ['spec.template.metadata.annotations["prometheus.io/scrape"]', false],
  ["metadata.labels.app", false],
  ["spec.template.spec.containers[name=manager].image", false],
  ["data.description", false],
] as const)("isMinorField: %s is %s", ([path, minor]) => {
  expect(isMinorField(path)).toBe(minor);
});
