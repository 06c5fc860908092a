import * as fc from "fast-check";
import { expect, test } from "vitest";
import { extensionNamed } from "../../../test/support/extensions.ts";
import { ClusterExtension } from "../../api/clusterExtension.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { canBeNamed, dependencyExtension, dependencyNames, parseDependents } from "./dependencyExtensions.ts";

const bundle = (packageName: string): SolverBundle => ({
  packageName,
  name: `${packageName}.v1.0.0`,
  version: undefined,
  apis: [],
  properties: [],
  constraints: [],
  catalog: "c",
  priority: 0,
  channels: [],
  inDefaultChannel: false,
  deprecated: false,
});
const parent = { ...extensionNamed("parent", { packageName: "p" }), metadata: { name: "parent", uid: "uid-of-parent" } };
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?$/);

test("whatever a package is called that an extension may name, its extension is one that the API server takes", () => {
  const names = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(
    fc.property(names, (packageName) => {
      fc.pre(canBeNamed(packageName));
      for (const name of dependencyNames(packageName)) {
        const made = dependencyExtension(parent, { bundle: bundle(packageName), version: "" }, name);
        expect(ClusterExtension.safeParse(made).error).toBeUndefined();
        expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      }
    }),
  );
});

test("packages have different names of last resort, and one that is short its own before that", () => {
  const long = "x".repeat(80);
  expect(dependencyNames("short")).toEqual(["short", expect.stringMatching(/^short-[0-9a-f]{8}$/)]);
  expect(dependencyNames(long)).toEqual([expect.stringMatching(/^x{44}-[0-9a-f]{8}$/)]);
  expect(dependencyNames(`${long}a`)).not.toEqual(dependencyNames(`${long}b`));
});

test.for(["", "Upper", "-a", "a".repeat(254), "a b"])("no extension is made for a package called %j", (packageName) => {
  expect(canBeNamed(packageName)).toBe(false);
});

test("it says for whom it was made, and a template says where it goes", () => {
  const template = { namespace: "shared", serviceAccount: { name: "installer" } };
  const spec = { ...parent.spec, approval: "Manual" as const, dependencies: { policy: "Install" as const, template } };
  const made = dependencyExtension({ ...parent, spec }, { bundle: bundle("q"), version: "1.0.0" }, "q");
  expect(made.spec).toEqual({
    namespace: "shared",
    serviceAccount: { name: "installer" },
    source: {
      sourceType: "Catalog",
      catalog: { packageName: "q", version: "1.0.0", selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "c" } } },
    },
    dependencies: { policy: "Install", template },
    approval: "Manual",
  });
  expect(parseDependents(made)).toEqual([{ name: "parent", uid: "uid-of-parent" }]);
});
