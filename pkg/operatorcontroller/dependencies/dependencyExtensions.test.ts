import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { ClusterExtension } from "../../api/clusterExtension.ts";
import { canBeNamed } from "../../resolve/dependencies/rejectedBundles.ts";
import { DependencyExtensions } from "./dependencyExtensions.ts";
import { buildDependencyExtension, listDependencyNames, parseDependents } from "./dependencyLabels.ts";

const parent = { ...createExtension("parent", { packageName: "p" }), metadata: { name: "parent", uid: "uid-of-parent" } };
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?$/);

test("buildDependencyExtension returns a valid ClusterExtension for every valid package name", () => {
  const names = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(
    fc.property(names, (packageName) => {
      fc.pre(canBeNamed(packageName));
      for (const name of listDependencyNames(packageName)) {
        const created = buildDependencyExtension(parent, { extension: name, packageName, catalog: "c" });
        expect(ClusterExtension.safeParse(created).error).toBeUndefined();
        expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      }
    }),
  );
});

test("listDependencyNames returns the package name if the name is short, and a unique name with a hash", () => {
  const long = "x".repeat(80);
  expect(listDependencyNames("short")).toEqual(["short", expect.stringMatching(/^short-[0-9a-f]{8}$/)]);
  expect(listDependencyNames(long)).toEqual([expect.stringMatching(/^x{44}-[0-9a-f]{8}$/)]);
  expect(listDependencyNames(`${long}a`)).not.toEqual(listDependencyNames(`${long}b`));
});

test.for(["", "Upper", "-a", "a".repeat(254), "a b"])("canBeNamed is false for package %j", (packageName) => {
  expect(canBeNamed(packageName)).toBe(false);
});

test("buildDependencyExtension labels the extension with its dependent, and uses namespace and ServiceAccount of the template", () => {
  const template = { namespace: "shared", serviceAccount: { name: "installer" } };
  const spec = { ...parent.spec, approval: "Manual" as const, dependencies: { policy: "Install" as const, template } };
  const created = buildDependencyExtension({ ...parent, spec }, { extension: "q", packageName: "q", catalog: "c" });
  expect(created.spec).toEqual({
    namespace: "shared",
    serviceAccount: { name: "installer" },
    source: {
      sourceType: "Catalog",
      catalog: { packageName: "q", selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "c" } } },
    },
    dependencies: { policy: "Install", template },
    approval: "Manual",
  });
  expect(parseDependents(created)).toEqual([{ name: "parent", uid: "uid-of-parent" }]);
});

test.for<[generation: number, deleted: string[]]>([
  [1, ["d"]],
  [2, []],
])(
  "DependencyExtensions recreates a dependency for another catalog only when its spec was never changed: generation %i",
  async ([generation, want]) => {
    const member = { extension: "d", packageName: "d", bundle: { name: "d.v1.0.0", version: "1.0.0" }, catalog: "new", wave: 1 };
    const status = { digest: "sha256:1", bundle: { name: "p.v1.0.0", version: "1.0.0" }, catalog: "new", wave: 2, members: [member] };
    const given = { ...parent, status: { dependencyPlan: status } };
    const created = buildDependencyExtension(parent, { extension: "d", packageName: "d", catalog: "old" });
    const dependency = { ...created, metadata: { ...created.metadata, uid: "uid-of-d", generation } };
    const deleted: string[] = [];
    const extensions = new DependencyExtensions({
      client: {
        delete: ({ name }: { name: string }) => {
          deleted.push(name);
          return Promise.resolve();
        },
      } as never,
      extensions: { list: () => [dependency], get: (name) => (name === "d" ? dependency : given) },
      dependents: {} as never,
      plans: { find: () => plan, reject: () => undefined },
      events: new RecordedEvents(),
    });
    const plan = { root: "parent", uid: "uid-of-parent", status, members: [member] };
    await extensions.carryOut(given, plan, new AbortController().signal);
    expect(deleted).toEqual(want);
  },
);
