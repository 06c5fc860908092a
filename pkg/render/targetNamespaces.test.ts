import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { chooseTargetNamespaces, findTargetFault } from "./watchScope.ts";

const csvOf = (modes: string) => bundleOf({ modes: modes === "" ? [] : modes.split(" ") }).csv;

// Source: I-14; operator-controller df2c201d internal/operator-controller/rukpak/render/render.go.
test.for<[modes: string, targets: readonly string[], fault: string | undefined]>([
  ["AllNamespaces", [""], undefined],
  ["OwnNamespace SingleNamespace", [""], "supported install modes [OwnNamespace SingleNamespace] do not support targeting all namespaces"],
  ["OwnNamespace", ["ns"], undefined],
  [
    "SingleNamespace AllNamespaces",
    ["ns"],
    "supported install modes [AllNamespaces SingleNamespace] do not support targeting own namespace",
  ],
  ["SingleNamespace", ["other"], undefined],
  ["OwnNamespace", ["other"], "supported install modes [OwnNamespace] do not support target namespaces [other]"],
  ["MultiNamespace", ["a", "b"], undefined],
  ["MultiNamespace", ["a", "ns"], "supported install modes [MultiNamespace] do not support targeting own namespace"],
  ["MultiNamespace OwnNamespace", ["a", "ns"], undefined],
  ["MultiNamespace", ["a", ""], "supported install modes [MultiNamespace] do not support target namespaces [a ]"],
  ["SingleNamespace", ["a", "b"], "supported install modes [SingleNamespace] do not support target namespaces [a b]"],
  ["SingleNamespace", [], "exactly one target namespace must be specified"],
  ["MultiNamespace", [], "at least one target namespace must be specified"],
])("findTargetFault checks %s with target namespaces %j", ([modes, targets, fault]) => {
  expect(findTargetFault(csvOf(modes), "ns", targets)).toBe(fault);
});

test("chooseTargetNamespaces returns all namespaces by default if AllNamespaces is supported, otherwise none", () => {
  expect(chooseTargetNamespaces(csvOf("AllNamespaces OwnNamespace"), undefined)).toEqual([""]);
  expect(chooseTargetNamespaces(csvOf("OwnNamespace"), undefined)).toEqual([]);
  expect(chooseTargetNamespaces(csvOf("AllNamespaces OwnNamespace"), ["ns"])).toEqual(["ns"]);
});
