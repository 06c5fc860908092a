import { expect, test } from "vitest";
import { tinyBundle } from "../../test/support/tinyBundle.ts";
import { buildTrialCatalog, buildTrialExtension, readTrialBundle, requireUpgrade, type TrialBundle } from "./trialCatalog.ts";

const bundle = (version: string, parts: Parameters<typeof tinyBundle>[1] = {}): TrialBundle => {
  const files = Object.entries(tinyBundle(version, parts)).map(([path, text]): [string, Uint8Array] => [path, Buffer.from(text)]);
  return readTrialBundle(`./${version}`, new Map(files));
};

test("buildTrialCatalog returns a channel in which each bundle replaces the one before, without manifests", () => {
  const published = ["1.0.0", "1.1.0"].map((version) => ({ bundle: bundle(version), image: `r/p@sha256:${version}` }));
  const metas = buildTrialCatalog(published)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { schema: string });
  expect(metas).toEqual([
    { schema: "olm.package", name: "p", defaultChannel: "trial" },
    { schema: "olm.channel", package: "p", name: "trial", entries: [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
    ...published.map(({ bundle: { name, version }, image }) =>
      expect.objectContaining({
        schema: "olm.bundle",
        name,
        image,
        properties: [{ type: "olm.package", value: { packageName: "p", version } }],
      }),
    ),
  ]);
});

test.for<[what: string, modes: string[], config: { watchNamespace: string } | undefined, inline: unknown]>([
  ["all namespaces", ["AllNamespaces", "OwnNamespace"], undefined, undefined],
  ["only its own namespace", ["OwnNamespace"], undefined, { watchNamespace: "try-1" }],
  ["the namespace in the configuration", ["OwnNamespace"], { watchNamespace: "other" }, { watchNamespace: "other" }],
])("buildTrialExtension returns an extension whose operator watches %s", ([, modes, config, inline]) => {
  const { spec } = buildTrialExtension({ name: "try-1", namespace: "try-1", config }, bundle("1.0.0", { modes }));
  expect(spec.config?.inline).toEqual(inline);
  expect(spec).toMatchObject({
    namespace: "try-1",
    source: { catalog: { version: "1.0.0", selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "try-1" } } } },
    uninstall: { crdPolicy: "Delete" },
  });
});

test.for<[what: string, from: TrialBundle, message: string]>([
  ["another package", { ...bundle("1.0.0"), packageName: "q" }, 'its package is "p", not "q"'],
  ["the same name", bundle("1.1.0"), 'both bundles have the name "p.v1.1.0"'],
  ["a higher version", bundle("2.0.0"), "its version 1.1.0 is not higher than 2.0.0"],
])("requireUpgrade rejects a previous bundle with %s", ([, from, message]) => {
  expect(() => requireUpgrade(bundle("1.1.0"), from)).toThrow(
    `"./1.1.0" is not an upgrade of "${from.source}": ${message}. Use --from with the previous version`,
  );
});
