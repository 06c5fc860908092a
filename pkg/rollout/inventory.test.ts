import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import { newProblem } from "../api/problems.ts";
import { readExtensionTree } from "./inventory.ts";

test("readExtensionTree lists the reasons why dependencies are not met, as in the status", async () => {
  const reasons = ['a 1.0.0 requires package "b" >=2.0.0', 'catalog "c" has only b 1.9.0'];
  const details = reasons.map((message) => ({ bundle: "a.v1.0.0", message }));
  const problem = newProblem("UnsatisfiedDependencies", { message: reasons.join("; "), details });
  const extension = { ...createExtension("a", { packageName: "a" }), status: { problems: [problem] } };
  const client = { get: () => Promise.resolve(extension), list: () => Promise.reject(new Error("not listed")) };
  const tree = await readExtensionTree(client as never, "a", 0);
  expect(tree.children).toEqual([
    { label: "bundle a.v1.0.0 cannot be installed", children: reasons.map((label) => ({ label, children: [] })) },
  ]);
});
