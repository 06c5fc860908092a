import { expect, test } from "vitest";
import { getRegistryWaitMs, RegistryError } from "./registryError.ts";

test.for([
  ["the requested delay", new RegistryError("busy", 429, 2_000), 2_000],
  ["the requested delay of a wrapped error", new Error("pull", { cause: new RegistryError("busy", 503, 5) }), 5],
  ["an hour for a delay of years", new RegistryError("busy", 429, 1e12), 3_600_000],
  ["the default delay without a requested one", new RegistryError("no", 404), undefined],
  ["the default delay for another error", new Error("broken"), undefined],
] as const)("getRegistryWaitMs returns %s", ([, error, want]) => {
  expect(getRegistryWaitMs(error)).toBe(want);
});
