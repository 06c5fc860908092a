import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import type { LoopbackRegistry } from "../../../test/support/loopbackRegistry.ts";
import { folder, loopbackRegistry, QUICK } from "../../../test/support/pulling.ts";
import { signal } from "../../../test/support/stores.ts";
import { computeDigest } from "../../oci/digest.ts";
import { readLogins } from "../../oci/registry/authFile.ts";
import { RegistryAccess } from "../../oci/registry/registryAccess.ts";
import { ImageStores } from "../../oci/store/imageStores.ts";
import { copyImages, createMirrorEnds, type MirrorOutcome } from "./copyImages.ts";

const ATTEMPTS = 2;
const LAYER = Buffer.from("the bytes of a layer");
const DIGEST = computeDigest(LAYER);

/** Makes the registry send only the first byte of the layer and then call `rest`. */
function stopWithin(registry: LoopbackRegistry, rest: (res: ServerResponse) => void = () => undefined): void {
  registry.misbehave = ({ url }, res) => {
    if (!url?.endsWith(DIGEST)) return false;
    res.writeHead(200, { "content-length": LAYER.byteLength }).write(LAYER.subarray(0, 1));
    rest(res);
    return true;
  };
}

function trickle(res: ServerResponse): void {
  const timer = setInterval(() => res.write(LAYER.subarray(1, 2)), 50);
  res.on("close", () => clearInterval(timer));
}

/** Copies `quay.io/ns/app:v1` from the registries `sources` to the registry `target`. */
async function mirror(sources: readonly LoopbackRegistry[], target: LoopbackRegistry): Promise<MirrorOutcome[]> {
  for (const source of sources) source.addImage("ns/app", "v1", { layers: [LAYER] });
  const places = sources.map(({ host }) => `location = "${host}"\ninsecure = true\n`);
  const source = places.pop() ?? "";
  const registriesConf = join(await folder(), "registries.conf");
  const targetConf = `[[registry]]\nlocation = "${target.host}"\ninsecure = true\n`;
  const mirrors = places.map((place) => `[[registry.mirror]]\n${place}`).join("");
  await writeFile(registriesConf, `${targetConf}[[registry]]\nprefix = "quay.io"\n${source}${mirrors}`);
  const limits = { ...QUICK, stallMs: 300, attempts: ATTEMPTS };
  const authFile = join(await folder(), "auth.json");
  await writeFile(authFile, "{}");
  const logins = readLogins(authFile, {}, "");
  const stores = new ImageStores(new RegistryAccess({ registriesConf, logins, env: {}, log: pino({ enabled: false }), limits }));
  onTestFinished(() => stores.close());
  const image = {
    source: "quay.io/ns/app:v1",
    sourceRepository: "quay.io/ns/app",
    repository: `${target.host}/ns-app`,
    tag: "v1",
    digest: undefined,
  };
  const options = { parallel: 1, continueOnError: true, signal, onImage: () => undefined };
  return copyImages(createMirrorEnds(stores, {}), [image], options);
}

const layersAsked = (registry: LoopbackRegistry): number => registry.paths(new RegExp(DIGEST)).length;

test.for<[what: string, misbehave: (registry: LoopbackRegistry) => void]>([
  ["stops sending within a blob", (registry) => stopWithin(registry)],
  ["sends a blob too slowly", (registry) => stopWithin(registry, trickle)],
])("copyImages copies from the next registry, without a retry, when the first registry %s", async ([, misbehave]) => {
  const [one, two, target] = [await loopbackRegistry(), await loopbackRegistry(), await loopbackRegistry()];
  misbehave(one);
  expect(await mirror([one, two], target)).toMatchObject([{ status: "copied" }]);
  expect([layersAsked(one), layersAsked(two), target.blob(DIGEST)]).toEqual([1, 1, LAYER]);
});

test("copyImages fails after all attempts when the only registry stops sending within a blob", async () => {
  const only = await loopbackRegistry();
  stopWithin(only);
  expect(await mirror([only], await loopbackRegistry())).toMatchObject([
    { status: "failed", error: expect.stringMatching(/^mirroring quay\.io\/ns\/app:v1: .*fetching blob: /) as string },
  ]);
  expect(layersAsked(only)).toBe(ATTEMPTS);
});

test("copyImages does not try another source registry when the destination rejects the image", async () => {
  const [one, two, target] = [await loopbackRegistry(), await loopbackRegistry(), await loopbackRegistry()];
  target.misbehave = ({ method }, res) => {
    if (method === "POST") res.writeHead(403).end();
    return method === "POST";
  };
  expect(await mirror([one, two], target)).toMatchObject([{ status: "failed", error: expect.stringContaining("pushing blob") as string }]);
  expect(two.requests).toEqual([]);
});
