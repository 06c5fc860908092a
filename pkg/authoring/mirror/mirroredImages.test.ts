import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseImageName } from "../../api/imageName.ts";
import { computeMirrorTag, formatDestination, formatImages, formatMapping, mapMirroredImages, parseTarget } from "./mirroredImages.ts";
import {
  renderClusterCatalog,
  renderContentSourcePolicy,
  renderDigestMirrorSet,
  renderRegistriesConf,
  renderTagMirrorSet,
} from "./mirrorRules.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens/mirror");
const KIBANA = "registry.redhat.io/openshift4/ose-logging-kibana5@sha256:aa4a8b2a00836d0e28aa6497ad90a3c116f135f382d8211e3c55f34fb36dfe61";
const PROXY = "registry.redhat.io/openshift4/ose-oauth-proxy@sha256:6b4db07f6e6c962fc96473d86c44532c93b146bbefe311d0c348117bf759c506";
const TARGET = parseTarget("mirror.internal:5000");
const DIGEST = `sha256:${"0".repeat(64)}`;

describe("computeMirrorTag", () => {
  // Source: requirement S0-109, from the oc adm catalog mirror documentation.
  test.for([
    [KIBANA, "a767c8f0"],
    [PROXY, "3754ea2b"],
    ["", "811c9dc5"],
  ])("computeMirrorTag hashes %s", ([reference, tag]) => expect(computeMirrorTag(reference ?? "")).toBe(tag));

  test("computeMirrorTag returns a valid tag for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => /^[0-9a-f]{1,8}$/.test(computeMirrorTag(text))));
  });
});

describe("mapMirroredImages", () => {
  test.for<[source: string, target: string, destination: string]>([
    [KIBANA, "mirror.internal:5000", "mirror.internal:5000/openshift4-ose-logging-kibana5:a767c8f0"],
    [KIBANA, "docker://mirror.internal/olm/v4/", "mirror.internal/olm/v4/openshift4-ose-logging-kibana5:a767c8f0"],
    ["quay.io/a/b/c:v1", "localhost:5000/olm", "localhost:5000/olm/a-b-c:v1"],
    ["quay.io/a/b", "localhost:5000", "localhost:5000/a-b:latest"],
    ["busybox:1.36", "mirror.internal", "mirror.internal/library-busybox:1.36"],
    [KIBANA.replace("@", ":v5@"), "mirror.internal:5000", "mirror.internal:5000/openshift4-ose-logging-kibana5:a767c8f0"],
  ])("mapMirroredImages maps %s to %s", ([source, target, destination]) => {
    const { images } = mapMirroredImages([source], parseTarget(target));
    expect(images.map(formatDestination)).toEqual([destination]);
  });

  test.for(["mirror", "Mirror.internal/Olm", "mirror.internal:5000/olm:v1", "", "https://mirror.internal"])(
    "parseTarget rejects %j",
    (text) => {
      expect(() => parseTarget(text)).toThrow(/^invalid mirror .*: must have the form REGISTRY\[:PORT\]\[\/PATH\]/);
    },
  );

  test("mapMirroredImages returns each image once, and lists invalid references separately", () => {
    const { images, unusable } = mapMirroredImages([PROXY, KIBANA, PROXY, "Not An Image"], TARGET);
    expect(images.map(({ source }) => source)).toEqual([KIBANA, PROXY]);
    expect(unusable).toEqual([{ text: "Not An Image", reason: "invalid reference format: repository name must be lowercase" }]);
  });

  test.for<[source: string, image: string, error: string | undefined]>([
    [
      "acme-database",
      "quay.io/acme/database:latest",
      "acme-database and quay.io/acme/database:latest have the same destination mirror.internal:5000/acme-database:latest: mirror them to different registries or paths",
    ],
    ["quay.io/acme/database:latest", "quay.io/acme/database:latest", undefined],
    ["acme-database", "quay.io/acme/database:v1", undefined],
  ])("mapMirroredImages checks the destination of the catalog when catalog %s contains image %s (error: %s)", ([source, image, error]) => {
    const catalog = { source, sourceRepository: "", repository: "mirror.internal:5000/acme-database", tag: "latest", digest: undefined };
    const map = (): unknown => mapMirroredImages([image], TARGET, catalog).images.map((one) => one.source);
    if (error === undefined) expect(map()).toEqual([image]);
    else expect(map).toThrow(error);
  });

  test("mapMirroredImages rejects two images with the same destination", () => {
    expect(() => mapMirroredImages(["quay.io/a/b:v1", "docker.io/a/b:v1"], TARGET)).toThrow(
      "quay.io/a/b:v1 and docker.io/a/b:v1 have the same destination mirror.internal:5000/a-b:v1: mirror them to different registries or paths",
    );
  });

  test("mapMirroredImages returns a valid image name for any source", () => {
    const part = fc.stringMatching(/^[a-z0-9]+(?:[._-][a-z0-9]+)*$/, { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (path) => {
        const { images } = mapMirroredImages([`quay.io/${path.join("/")}@${DIGEST}`], TARGET);
        expect(images.map((image) => typeof parseImageName(formatDestination(image)))).toEqual(["object"]);
      }),
    );
  });
});

describe("mirror file formatters", () => {
  const { images } = mapMirroredImages(
    [KIBANA, PROXY, `quay.io/olm/catalog:v1`, `quay.io/olm/app@${DIGEST}`, "quay.io/olm/app:v2"],
    TARGET,
  );
  const options = { name: "olm-catalog", blockSources: false, insecure: false };
  test.for([
    ["mapping.txt", formatMapping(images)],
    ["images.txt", formatImages(images)],
    ["registries.conf", renderRegistriesConf(images, options)],
    ["registries-blocked.conf", renderRegistriesConf(images.slice(0, 1), { ...options, blockSources: true, insecure: true })],
    ["imageContentSourcePolicy.yaml", renderContentSourcePolicy(images, options)],
    ["imageDigestMirrorSet.yaml", renderDigestMirrorSet(images, options)],
    ["imageDigestMirrorSet-blocked.yaml", renderDigestMirrorSet(images, { ...options, blockSources: true })],
    ["imageTagMirrorSet.yaml", renderTagMirrorSet(images, options)],
    ["clusterCatalog.yaml", renderClusterCatalog("olm-catalog", "mirror.internal:5000/olm-catalog:v1")],
  ] as const)("mirror file %s matches its golden", async ([file, text]) => {
    await expect(text).toMatchFileSnapshot(join(GOLDENS, file));
  });

  test("renderTagMirrorSet returns an empty text when no image has a tag", () => {
    expect(renderTagMirrorSet(mapMirroredImages([KIBANA], TARGET).images, options)).toBe("");
  });
});
