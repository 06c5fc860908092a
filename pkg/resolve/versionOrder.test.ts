import * as fc from "fast-check";
import { expect, test } from "vitest";
import { contentFrom } from "../../test/support/catalogFixture.ts";
import { findDefault, findLatest } from "../fbc/bundleOrder.ts";
import { listCandidates } from "./candidates.ts";
import { resolve } from "./resolve.ts";

const NAMES = ["p.v1.0.0", "p.v1.2.5274", "p.v2.0.0-rc.1", "p.v2.0.0", "p.v2.5.3516"];
const packages = fc.record({
  bundles: fc.subarray(NAMES, { minLength: 1 }),
  deprecated: fc.subarray(NAMES),
  channels: fc.dictionary(fc.constantFrom("alpha", "beta", "stable"), fc.subarray(NAMES)),
});

test("findDefault returns the same bundle as resolve when the request has no limits", () => {
  fc.assert(
    fc.property(packages, (fixture) => {
      const content = contentFrom({ ...fixture, defaultChannel: "stable" }, "p");
      const candidates = listCandidates(content, new Set(fixture.deprecated));
      const resolution = resolve({ source: { packageName: "p" }, catalogs: [{ name: "c", priority: 0, labels: {}, content }] });
      expect(resolution.kind === "resolved" && resolution.bundle.name).toBe(findDefault(candidates)?.bundle.name);
    }),
  );
});

test("findLatest includes deprecated bundles, and findDefault skips them if other bundles exist", () => {
  const content = contentFrom({ bundles: ["p.v1.0.0", "p.v2.0.0"], deprecated: ["p.v2.0.0"] }, "p");
  const candidates = listCandidates(content, new Set(["p.v2.0.0"]));
  expect([findLatest(candidates)?.bundle.name, findDefault(candidates)?.bundle.name]).toEqual(["p.v2.0.0", "p.v1.0.0"]);
});
