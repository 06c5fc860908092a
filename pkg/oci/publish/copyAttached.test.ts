import { expect, test } from "vitest";
import { loopbackRegistry } from "../../../test/support/pulling.ts";
import { BUNDLE } from "../../../test/support/signing.ts";
import { repository, signal } from "../../../test/support/stores.ts";
import { MediaType } from "../manifest.ts";
import { copyAttached } from "./copyAttached.ts";
import { BlobLocations, copyImage } from "./copyImage.ts";

// Cosign's SIGNATURE_SPEC.md; the distribution specification, "Referrers Tag Schema".
test("copyAttached copies attachments of an image and updates the referrers tag if the registry has no referrers endpoint", async () => {
  const [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
  const image = source.addImage("app", "v1", { layers: [Buffer.from("layer")] });
  const cosignTag = (suffix: string): string => `${image.digest.replace(":", "-")}${suffix}`;
  source.addImage("app", cosignTag(".sig"), { layers: [Buffer.from("signature")] });
  source.addImage("app", cosignTag(".att"), { layers: [Buffer.from("attestation")] });
  const config = source.addBlob("{}", "application/vnd.oci.empty.v1+json");
  const layers = [source.addBlob("bill of materials")];
  const body = { schemaVersion: 2, mediaType: MediaType.ociManifest, artifactType: "example/sbom", config, layers, subject: image };
  const referrer = source.addManifest("app", "referrer", body);
  const manifests = [{ ...referrer, artifactType: "example/sbom", annotations: { made: "here" } }];
  source.addManifest("app", cosignTag(""), { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests }, MediaType.ociIndex);

  const [from, to] = [await repository(`${source.host}/app`), await repository(`${target.host}/copy`)];
  const options = { signal, book: new BlobLocations() };
  const copy = async (): Promise<number> => {
    const copied = await copyImage(from, await from.manifest("v1", signal), to, { ...options, tag: "v1" });
    return copyAttached(from, copied, to, options);
  };
  expect(await copy()).toBe(3);
  for (const reference of [cosignTag(".sig"), cosignTag(".att"), referrer.digest]) expect(await to.has(reference, signal)).toBeDefined();
  expect(await to.has(cosignTag(".sbom"), signal)).toBeUndefined();
  const listed = (await to.referrers(image.digest, signal)).map(({ descriptor }) => descriptor);
  expect(listed).toEqual(manifests);
  const before = target.requests.length;
  expect(await copy()).toBe(3);
  expect(target.requests.slice(before).filter(({ method }) => method !== "HEAD" && method !== "GET")).toEqual([]);
});

// The attachments that cosign 3 creates with --recursive.
test("copyAttached copies referrers of a platform's image together with the index", async () => {
  const [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
  const child = source.addImage("app", "child", { layers: [Buffer.from("layer")] });
  const manifests = [{ ...child, platform: { os: "linux", architecture: "amd64" } }];
  source.addManifest("app", "v1", { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests }, MediaType.ociIndex);
  const config = source.addBlob("{}", "application/vnd.oci.empty.v1+json");
  const body = { schemaVersion: 2, mediaType: MediaType.ociManifest, artifactType: BUNDLE, config, layers: [], subject: child };
  const bundle = { ...source.addManifest("app", "bundle", body), artifactType: BUNDLE };
  const list = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: [bundle] };
  source.addManifest("app", child.digest.replace(":", "-"), list, MediaType.ociIndex);

  const [from, to] = [await repository(`${source.host}/app`), await repository(`${target.host}/copy`)];
  const copied = await copyImage(from, await from.manifest("v1", signal), to, { signal, tag: "v1" });
  expect(await copyAttached(from, copied, to, { signal })).toBe(1);
  expect((await to.referrers(child.digest, signal)).map(({ digest }) => digest)).toEqual([bundle.digest]);
});

test("copyAttached copies nothing for an image without attachments", async () => {
  const [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
  source.addImage("app", "v1", { layers: [Buffer.from("layer")] });
  const [from, to] = [await repository(`${source.host}/app`), await repository(`${target.host}/copy`)];
  const copied = await copyImage(from, await from.manifest("v1", signal), to, { tag: "v1", signal });
  expect(await copyAttached(from, copied, to, { signal })).toBe(0);
});
