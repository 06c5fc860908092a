import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { toConsoleProblem } from "../http/consoleError.ts";
import { tryLimits } from "./sourceLimits.ts";

test("tryLimits replaces only the given limits", () => {
  const { spec } = tryLimits(createExtension("x", { packageName: "p" }), { range: " 1.x ", channels: "stable,,beta" });
  expect(spec.source.catalog).toMatchObject({ packageName: "p", version: "1.x", channels: ["stable", "beta"] });
});

test("tryLimits reports an invalid request when the extension has no source", () => {
  const { spec, ...others } = createExtension("x", { packageName: "p" });
  const extension = { ...others, spec: { ...spec, source: { sourceType: "Catalog" as const } } };
  let problem: unknown;
  try {
    tryLimits(extension, {});
  } catch (err) {
    problem = toConsoleProblem(err);
  }
  expect(problem).toEqual({ status: 400, problem: { kind: "invalid", message: 'ClusterExtension "x" has no spec.source.catalog' } });
});
