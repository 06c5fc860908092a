import { expect, test } from "vitest";
import { RegistryError, registryWaitOf } from "./registryError.ts";

test.for([
  ["what it asks for", new RegistryError("busy", 429, 2_000), 2_000],
  ["what it asks for, told by an error around it", new Error("pull", { cause: new RegistryError("busy", 503, 5) }), 5],
  ["an hour when it asks for years", new RegistryError("busy", 429, 1e12), 3_600_000],
  ["as usual when it asks for nothing", new RegistryError("no", 404), undefined],
  ["as usual when it is another error", new Error("broken"), undefined],
] as const)("a registry is given %s", ([, error, want]) => {
  expect(registryWaitOf(error)).toBe(want);
});
