import { beforeAll, expect, test } from "vitest";
import { serverCertificate } from "../../../test/support/serverCertificate.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { parsePullReference } from "../reference.ts";
import { readAuthorities } from "./authorities.ts";
import { listPullSources, withClusterEntries } from "./pullSources.ts";
import { parseRegistriesConf } from "./registriesConf.ts";
import { getAuthoritiesName } from "./registryObjects.ts";
import {
  findRegistryRefusal,
  NO_REGISTRY_SETTINGS,
  type RegistryObjects,
  type RegistrySettings,
  readRegistriesConfigMap,
  toRegistrySettings,
} from "./registrySettings.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
let pem: string;
beforeAll(async () => {
  pem = (await serverCertificate("a.com")).cert;
});

const NONE: RegistryObjects["mirrors"] = { ImageDigestMirrorSet: [], ImageTagMirrorSet: [], ImageContentSourcePolicy: [] };

function configMap(data: Record<string, unknown>, name = "registries"): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "ns" }, data };
}

function image(registrySources: object): KubeObject {
  return { apiVersion: "config.openshift.io/v1", kind: "Image", metadata: { name: "cluster" }, spec: { registrySources } };
}

function settingsOf(objects: Partial<RegistryObjects>): RegistrySettings {
  return toRegistrySettings({ mirrors: NONE, image: undefined, authorities: undefined, configMaps: [], ...objects });
}

const mirrorSet = (name: string, source: string, mirror: string): KubeObject => ({
  apiVersion: "config.openshift.io/v1",
  kind: "ImageDigestMirrorSet",
  metadata: { name },
  spec: { imageDigestMirrors: [{ source, mirrors: [mirror] }] },
});

test("files take precedence over the ConfigMap, and the ConfigMap over mirror sets, for the same prefix only", () => {
  const mirrors = {
    ...NONE,
    ImageDigestMirrorSet: [
      mirrorSet("a", "a.com", "set.com"),
      mirrorSet("b", "b.com", "set.com"),
      mirrorSet("c", "c.com/ns", "set.com/ns"),
    ],
  };
  const toml = (prefix: string, mirror: string): string =>
    `[[registry]]\nlocation = "${prefix}"\n[[registry.mirror]]\nlocation = "${mirror}"\n`;
  const own = readRegistriesConfigMap(configMap({ "registries.conf": toml("a.com", "map.com") + toml("b.com", "map.com") }));
  const { entries, problems } = settingsOf({ mirrors, configMaps: [own] });
  const files = {
    origin: "/etc/registries.conf",
    entries: parseRegistriesConf(toml("a.com", "file.com") + toml("c.com", "file.com"), true),
  };
  const conf = withClusterEntries(files, entries);
  const sources = ["a.com/ns/x", "b.com/ns/x", "c.com/ns/x", "c.com/other/x"].map(
    (name) => listPullSources(conf, parsePullReference(`${name}@${DIGEST}`))[0]?.ref.registry,
  );
  expect([problems, sources]).toEqual([[], ["file.com", "map.com", "set.com", "file.com"]]);
});

test("the object that blocks a registry is named instead of the files", () => {
  const { entries } = settingsOf({ image: image({ blockedRegistries: ["a.com"] }) });
  const conf = withClusterEntries({ entries: [], origin: "/etc/registries.conf" }, entries);
  expect(listPullSources(conf, parsePullReference("a.com/x:v1"))[0]?.blocked).toBe('registry a.com is blocked in Image "cluster"');
});

test.for<[what: string, text: unknown, want: string]>([
  ["invalid TOML", "[[registry]\n", "line 1, column 12: Invalid TOML document"],
  ["no text", 1, "it is not a text"],
  ["a password in a location", '[[registry]]\nlocation = "https://u:s3cr3t@a.com"\n', "invalid location 'https://[redacted]@a.com'"],
  [
    "a user in a mirror",
    '[[registry]]\nlocation = "a.com"\n[[registry.mirror]]\nlocation = "u:s3cr3t@m.com"',
    'location "[redacted]@m.com"',
  ],
  ["a wildcard in the middle", '[[registry]]\nprefix = "a.*.com"\n', "location is unset and prefix is not in the format: *.example.com"],
  ["a very long prefix", `[[registry]]\nprefix = "*.${"a/".repeat(100_000)}"\n`, "Wildcarded prefix should be in the format"],
  ["too many registries", Array.from({ length: 10_001 }, (_, index) => `[[registry]]\nlocation = "a${index}"`).join("\n"), "at most 10000"],
])("readRegistriesConfigMap keeps the last valid content when registries.conf contains %s", ([, text, want]) => {
  const valid = readRegistriesConfigMap(configMap({ "registries.conf": '[[registry]]\nlocation = "ok.com"\nblocked = true\n' }));
  const read = readRegistriesConfigMap(configMap({ "registries.conf": text }), valid);
  expect(read.fault).toBeUndefined();
  expect(read.entries.map(({ prefix }) => prefix)).toEqual(["ok.com"]);
  const [problem] = read.problems;
  expect(problem?.message).toContain(want);
  expect(problem?.message).toMatch(/: its last valid content is used$/);
  expect(problem?.message).not.toContain("s3cr3t");
  expect(problem?.message.length).toBeLessThan(400);
  const first = readRegistriesConfigMap(configMap({ "registries.conf": text }));
  expect(settingsOf({ configMaps: [first] }).fault).toContain(
    'loading registries configuration in ConfigMap "ns/registries": registries.conf: ',
  );
  expect(first.problems[0]?.message).toMatch(/: no image is pulled until it is corrected$/);
});

test("readRegistriesConfigMap accepts a ConfigMap without registries.conf, and with certificate authorities only", () => {
  const read = readRegistriesConfigMap(configMap({ "mirror.com..5000": pem }));
  expect([read.entries, [...read.authorities.keys()], read.problems, read.fault]).toEqual([[], ["mirror.com:5000"], [], undefined]);
});

test("readAuthorities reads several certificates of a host, and reports values that are not PEM without their content", () => {
  const wrong = "-----BEGIN CERTIFICATE-----\nczNjcjN0\n-----END CERTIFICATE-----";
  const { value, problems } = readAuthorities(configMap({ "a.com": `${pem}\n${pem}`, "b.com..5000": pem, c: wrong, d: "s3cr3t", e: 1 }));
  expect([...value].map(([host, certificates]) => `${host} ${certificates.length}`)).toEqual(["a.com 2", "b.com:5000 1"]);
  expect(problems.map(({ message }) => message)).toEqual(["c", "d", "e"].map((key) => `key "${key}" contains no certificate in PEM`));
  const many = readAuthorities(configMap(Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`h${index}`, pem]))));
  expect([many.value.size, many.problems.length]).toEqual([1_000, 1]);
});

test.for<[name: unknown, want: string | undefined]>([
  ["registry-cas", "registry-cas"],
  ["", undefined],
  ["../secrets/x", undefined],
  ["a,metadata.name!=b", undefined],
  [1, undefined],
])("getAuthoritiesName of the name %j returns %j", ([name, want]) => {
  expect(getAuthoritiesName({ ...image({}), spec: { additionalTrustedCA: { name } } })).toBe(want);
});

test.for<[what: string, sources: object, allowed: string[], refused: string[]]>([
  ["nothing", {}, ["a.com/x:1"], []],
  ["blocked registries", { blockedRegistries: ["a.com", "b.com/ns"] }, ["b.com/x:1", "a.com:5000/x:1"], ["a.com/x:1", "b.com/ns/x:1"]],
  ["a blocked wildcard", { blockedRegistries: ["*.a.com"] }, ["a.com/x:1"], ["r.a.com/x:1", "r.a.com:5000/x:1"]],
  ["allowed registries", { allowedRegistries: ["a.com", "b.com/ns"] }, ["a.com/x:1", "b.com/ns/x:1"], ["b.com/x:1", "c.com/x:1"]],
  ["an allowed image", { allowedRegistries: ["a.com/x:1"] }, ["a.com/x:1"], ["a.com/x:2", `a.com/x@${DIGEST}`]],
  ["both", { allowedRegistries: ["a.com"], blockedRegistries: ["a.com/ns"] }, ["a.com/x:1"], ["a.com/ns/x:1", "b.com/x:1"]],
  ["a blocked registry with another spelling", { blockedRegistries: ["a.COM"] }, ["b.com/x:1"], ["A.com/x:1", "a.com:443/x:1"]],
  ["a blocked registry with the default port", { blockedRegistries: ["a.com:443"] }, ["a.com:5000/x:1"], ["a.com/x:1", "a.com:443/x:1"]],
  ["an allowed registry with another spelling", { allowedRegistries: ["A.com"] }, ["a.com/x:1", "a.COM:443/x:1"], ["b.com/x:1"]],
  ["only invalid allowed registries", { allowedRegistries: ["a.*"] }, [], ["a.com/x:1"]],
])("findRegistryRefusal decides by %s", ([, sources, allowed, refused]) => {
  const settings = settingsOf({ image: image(sources) });
  const refuses = (text: string): boolean => findRegistryRefusal(settings, parsePullReference(text)) !== undefined;
  expect([allowed.map(refuses), refused.map(refuses)]).toEqual([allowed.map(() => false), refused.map(() => true)]);
});

test("a source is blocked when the cluster blocks another spelling of its host", () => {
  const object: KubeObject = {
    ...mirrorSet("a", "Quay.io/ns", "m.local"),
    spec: { imageDigestMirrors: [{ source: "Quay.io/ns", mirrors: ["m.local"], mirrorSourcePolicy: "NeverContactSource" }] },
  };
  const { entries } = settingsOf({ mirrors: { ...NONE, ImageDigestMirrorSet: [object] } });
  const sources = listPullSources({ entries, origin: "" }, parsePullReference(`QUAY.IO/ns/app@${DIGEST}`));
  expect(sources.map(({ ref, blocked }) => [ref.registry, blocked !== undefined])).toEqual([
    ["m.local", false],
    ["quay.io", true],
  ]);
});

test("findRegistryRefusal names the list that refuses an image", () => {
  const refusal = (sources: object): string | undefined =>
    findRegistryRefusal(settingsOf({ image: image(sources) }), parsePullReference("a.com/x:1"))?.message;
  expect(refusal({ blockedRegistries: ["a.com"] })).toBe(
    'Running image docker://a.com/x:1 is rejected by policy: Image "cluster" blocks "a.com" in spec.registrySources.blockedRegistries',
  );
  expect(refusal({ allowedRegistries: ["b.com"] })).toBe(
    'Running image docker://a.com/x:1 is rejected by policy: spec.registrySources.allowedRegistries of Image "cluster" does not contain registry a.com',
  );
  expect(findRegistryRefusal(NO_REGISTRY_SETTINGS, parsePullReference("a.com/x:1"))).toBeUndefined();
});
