import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { computeDigest } from "../../../../pkg/oci/digest.ts";
import { MediaType } from "../../../../pkg/oci/manifest.ts";
import { packLayout } from "../../../../pkg/oci/store/layoutArchive.ts";
import type { LoopbackRegistry } from "../../../../test/support/loopbackRegistry.ts";
import { folder, insecureRegistry, loopbackRegistry } from "../../../../test/support/pulling.ts";
import { type Ended, runCli } from "../../../../test/support/runCli.ts";
import { signal } from "../../../../test/support/stores.ts";
import { tarball } from "../../../../test/support/tarball.ts";

const CONFIGS = "operators.operatorframework.io.index.configs.v1";

interface MirrorReport {
  images: { source: string; status: string; digest: string; attached?: number; bytes?: number }[];
  catalog: string;
}

let dir: string;
let source: LoopbackRegistry;
let target: LoopbackRegistry;
let layer: string;
let signed: string;
let catalog: string;
let catalogImage: { layers: Uint8Array[]; labels: Record<string, string> };

beforeEach(async () => {
  dir = await folder();
  [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
  const large = Buffer.alloc(300_000, "app");
  layer = computeDigest(large);
  signed = source.addImage("team/app", "v1", { layers: [large] }).digest;
  const tagBase = signed.replace(":", "-");
  source.addImage("team/app", `${tagBase}.sig`, { layers: [Buffer.from("signature")] });
  const config = source.addBlob("{}", "application/vnd.oci.empty.v1+json");
  const subject = { mediaType: MediaType.ociManifest, digest: signed, size: 1 };
  const body = { schemaVersion: 2, mediaType: MediaType.ociManifest, artifactType: "example/sbom", config, layers: [], subject };
  const manifests = [{ ...source.addManifest("team/app", "referrer", body), artifactType: "example/sbom" }];
  source.addManifest("team/app", tagBase, { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests }, MediaType.ociIndex);
  const bundle = source.addImage("team/bundle", "v1", { layers: [tarball([{ name: "manifests/x", content: "x" }])] });
  const texts = [
    { schema: "olm.package", name: "foo", defaultChannel: "stable" },
    { schema: "olm.channel", package: "foo", name: "stable", entries: [{ name: "foo.v1" }] },
    {
      schema: "olm.bundle",
      package: "foo",
      name: "foo.v1",
      image: `${source.host}/team/bundle@${bundle.digest}`,
      properties: [{ type: "olm.package", value: { packageName: "foo", version: "1.0.0" } }],
      relatedImages: [{ name: "app", image: `${source.host}/team/app@${signed}` }],
    },
  ];
  const content = texts.map((meta) => JSON.stringify(meta)).join("\n");
  catalogImage = { layers: [tarball([{ name: "configs/catalog.json", content }])], labels: { [CONFIGS]: "/configs" } };
  source.addImage("team/catalog", "v1", catalogImage);
  catalog = `${source.host}/team/catalog:v1`;
  await writeFile(join(dir, "registries.conf"), insecureRegistry(source.host));
});

const run = (from: string, to: string, ...more: string[]): Promise<Ended> =>
  runCli(["catalog", "mirror", from, to, "--registries-conf", join(dir, "registries.conf"), "--insecure", "-o", "json", ...more]);

async function runMirror(from: string, to: string, ...more: string[]): Promise<MirrorReport> {
  const { code, out, err } = await run(from, to, ...more);
  if (code !== 0) throw new Error(`exited with ${code}: ${err}`);
  return JSON.parse(out) as MirrorReport;
}

const disk = (): string => `oci:${join(dir, "disk")}`;
const getStatuses = ({ images }: MirrorReport): string[] => images.map(({ status }) => status);

test("catalog mirror copies the same images, digests and signatures through an OCI layout as directly", async () => {
  const direct = await runMirror(catalog, `${target.host}/direct`, "--to-dir", join(dir, "direct"));
  const carried = await runMirror(catalog, disk());
  expect(carried.catalog).toBe(`${disk()}:${catalog}`);
  expect(getStatuses(carried)).toEqual(["copied", "copied", "copied"]);
  await source.stop();
  const arrived = await runMirror(disk(), `${target.host}/carried`, "--to-dir", join(dir, "carried"));
  expect(arrived.catalog).toBe(`${target.host}/carried/team-catalog:v1`);
  const summarize = (one: MirrorReport): unknown => one.images.map(({ digest, attached, status }) => ({ digest, attached, status }));
  expect(summarize(arrived)).toEqual(summarize(direct));
  expect(arrived.images.map(({ attached }) => attached)).toContain(2);
  for (const reference of [signed, `${signed.replace(":", "-")}.sig`, signed.replace(":", "-")])
    expect(target.has("carried/team-app", reference), reference).toBe(true);
  for (const file of ["registries.conf", "clusterCatalog.yaml", "imageDigestMirrorSet.yaml", "mapping.txt"]) {
    const text = async (where: string): Promise<string> => (await readFile(join(dir, where, file), "utf8")).replaceAll(`/${where}`, "/olm");
    expect(await text("carried"), file).toBe(await text("direct"));
  }
});

test("catalog mirror copies only a selected channel from an OCI layout in an archive", async () => {
  await runMirror(catalog, disk());
  await source.stop();
  const archive = join(dir, "disk.tar");
  await packLayout(join(dir, "disk"), archive, signal);
  const arrived = await runMirror(`oci-archive:${archive}`, `${target.host}/olm`, "--to-dir", join(dir, "m"), "--channels", "foo:stable");
  expect(getStatuses(arrived)).toEqual(["copied", "copied", "copied"]);
});

test("catalog mirror resumes an interrupted download, and downloads a missing blob again", async () => {
  const half = Buffer.alloc(300_000, "app").subarray(0, 200_000);
  await runMirror(catalog, disk());
  const blob = join(dir, "disk/blobs", layer.replace(":", "/"));
  await rm(blob);
  await writeFile(join(dir, "disk/blobs", `part-${layer.replace(":", "-")}`), half);
  const before = source.requests.length;
  const again = await runMirror(catalog, disk());
  expect(getStatuses(again).toSorted()).toEqual(["copied", "present", "present"]);
  const blobs = source.requests.slice(before).filter(({ path }) => path.includes("/blobs/"));
  expect(blobs.filter(({ path }) => path.includes(layer)).map(({ headers }) => headers.range)).toEqual(["bytes=200000-"]);
  expect(computeDigest(await readFile(blob))).toBe(layer);
  await writeFile(join(dir, "disk/blobs", `part-${layer.replace(":", "-")}`), "something else");
  await rm(blob);
  await runMirror(catalog, disk());
  expect(computeDigest(await readFile(blob))).toBe(layer);
});

test("catalog mirror rejects an incomplete layout, a layout with several catalogs, and unsupported targets", async () => {
  await runMirror(catalog, disk());
  const { manifests } = JSON.parse(await readFile(join(dir, "disk/index.json"), "utf8")) as { manifests: { annotations: object }[] };
  expect(manifests.length).toBeGreaterThan(3);
  await rm(join(dir, "disk/blobs", layer.replace(":", "/")));
  const to = [`${target.host}/olm`, "--to-dir", join(dir, "m")] as const;
  expect(await run(disk(), ...to)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`is incomplete: blob ${layer} is missing`) as string,
  });
  source.addImage("team/catalog", "v2", catalogImage);
  await runMirror(`${source.host}/team/catalog:v2`, disk());
  expect(await run(disk(), ...to)).toMatchObject({
    code: 2,
    err: expect.stringContaining("contains several catalogs: append a colon and the name of one; available:") as string,
  });
  expect((await runMirror(`${disk()}:${source.host}/team/catalog:v2`, ...to)).catalog).toContain("team-catalog:v2");
  expect((await run(catalog, `oci-archive:${dir}/x.tar`)).err).toContain("mirror to oci:FOLDER, which can be resumed");
  expect((await run(catalog, disk(), "--manifests-only")).err).toContain("--manifests-only and --to-dir require a registry as target");
});
