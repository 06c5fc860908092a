import { expect, test } from "vitest";
import { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_METADATA_NAME } from "../api/constants.ts";
import { buildDesiredExtension, type ExtensionOptions, findChangedPaths } from "./extensionSpec.ts";

const DEFAULTS: ExtensionOptions = {
  packageName: "p",
  namespace: "ns",
  serviceAccount: "installer",
  config: undefined,
  channel: [],
  catalog: [],
  watchNamespace: [],
};
const PLAIN = { namespace: "ns", serviceAccount: { name: "installer" }, source: { sourceType: "Catalog", catalog: { packageName: "p" } } };

test.for<[string, Partial<ExtensionOptions>, object]>([
  ["only a package", {}, PLAIN],
  ["no ServiceAccount", { serviceAccount: undefined }, { namespace: "ns", source: PLAIN.source }],
  [
    "a range, channels and a policy",
    { version: "1.x", channel: ["stable", "fast"], upgradeConstraintPolicy: "SelfCertified" },
    {
      source: {
        sourceType: "Catalog",
        catalog: { packageName: "p", version: "1.x", channels: ["stable", "fast"], upgradeConstraintPolicy: "SelfCertified" },
      },
    },
  ],
  [
    "one catalog",
    { catalog: ["c"] },
    { source: { sourceType: "Catalog", catalog: { packageName: "p", selector: { matchLabels: { [LABEL_METADATA_NAME]: "c" } } } } },
  ],
  [
    "several catalogs",
    { catalog: ["c", "d"] },
    {
      source: {
        sourceType: "Catalog",
        catalog: { packageName: "p", selector: { matchExpressions: [{ key: LABEL_METADATA_NAME, operator: "In", values: ["c", "d"] }] } },
      },
    },
  ],
  ["approval", { approval: "Manual" }, { approval: "Manual" }],
  ["one namespace to watch", { watchNamespace: ["a"] }, { config: { configType: "Inline", inline: { watchNamespace: "a" } } }],
  [
    "several namespaces in addition to a configuration",
    { watchNamespace: ["a", "b"], config: { deploymentConfig: {} } },
    { config: { configType: "Inline", inline: { deploymentConfig: {}, watchNamespaces: ["a", "b"] } } },
  ],
])("buildDesiredExtension builds an extension with %s", ([, given, want]) => {
  const { spec, ...rest } = buildDesiredExtension("x", { ...DEFAULTS, ...given });
  expect(spec).toMatchObject(want);
  expect(ClusterExtension.safeParse({ ...rest, spec }).error).toBeUndefined();
});

test("buildDesiredExtension keeps values of the existing extension when options are omitted", () => {
  const before = buildDesiredExtension("x", { ...DEFAULTS, version: "1.x", watchNamespace: ["a"], approval: "Manual" }).spec;
  expect(findChangedPaths(before, buildDesiredExtension("x", DEFAULTS, before).spec)).toEqual([]);
  const other = buildDesiredExtension("x", { ...DEFAULTS, version: "2.x", channel: ["fast"], watchNamespace: ["b"] }, before).spec;
  expect(findChangedPaths(before, other)).toEqual(["config.inline.watchNamespace", "source.catalog.channels", "source.catalog.version"]);
});
