import { expect, test } from "vitest";
import { BundleImages, type BundlePuller, type RequestedImage } from "./bundleImages.ts";

/** Pulls all images except images that the test configured to fail or hang. */
class CannedPuller implements BundlePuller {
  readonly calls: string[] = [];
  readonly onDisk = new Set<string>();
  readonly failing = new Set<string>();
  readonly hanging = new Set<string>();

  cached(owner: string, ref: string): Promise<ReturnType<typeof imageOf> | undefined> {
    if (this.failing.has(ref)) return Promise.reject(new Error("disk failure"));
    return Promise.resolve(this.onDisk.has(ref) ? imageOf(owner, ref) : undefined);
  }

  pull(owner: string, ref: string, { signal }: { signal: AbortSignal }): Promise<ReturnType<typeof imageOf>> {
    this.calls.push(`pull ${owner} ${ref}`);
    if (this.failing.has(ref)) return Promise.reject(new Error(`${ref} is unknown`));
    if (!this.hanging.has(ref)) return Promise.resolve(imageOf(owner, ref));
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        this.calls.push(`cancelled ${owner} ${ref}`);
        reject(new Error("aborted"));
      });
    });
  }

  remove(owner: string): Promise<void> {
    this.calls.push(`remove ${owner}`);
    return Promise.resolve();
  }
}

function imageOf(owner: string, ref: string) {
  return { canonical: ref, digest: ref, dir: `/${owner}` };
}

function setUp() {
  const puller = new CannedPuller();
  const requeued: string[] = [];
  const images = new BundleImages(puller, (name) => void requeued.push(name));
  const obtain = (name: string, requested: RequestedImage | string, generation = 1): ReturnType<typeof images.obtain> =>
    images.obtain(
      { metadata: { name, generation } },
      typeof requested === "string" ? { ref: requested } : requested,
      new AbortController().signal,
    );
  return { puller, images, requeued, obtain };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("BundleImages returns an image on disk without a pull", async () => {
  const { puller, obtain, requeued } = setUp();
  puller.onDisk.add("r/a:1");
  expect(await obtain("x", "r/a:1")).toEqual({ kind: "done", value: { image: imageOf("x", "r/a:1") } });
  expect([puller.calls, requeued]).toEqual([[], []]);
});

test("BundleImages returns an image on disk while other pulls hang", async () => {
  const { puller, obtain } = setUp();
  puller.onDisk.add("r/a:1");
  puller.hanging.add("r/b:1");
  for (let i = 0; i < 100; i++) await obtain(`h${i}`, "r/b:1");
  expect(await obtain("x", "r/a:1")).toMatchObject({ kind: "done" });
});

test("BundleImages pulls an image, and requeues the extension when the pull has ended", async () => {
  const { obtain, requeued } = setUp();
  expect(await obtain("x", "r/a:1")).toMatchObject({ kind: "pending", isNew: true });
  await settled();
  expect(requeued).toEqual(["x"]);
  expect(await obtain("x", "r/a:1")).toEqual({ kind: "done", value: { image: imageOf("x", "r/a:1") } });
});

test("BundleImages pulls the alternative image when the image is not available", async () => {
  const { puller, obtain } = setUp();
  puller.failing.add("r/a:1");
  const requested = { ref: "r/a:1", substitute: "r/b:1" };
  await obtain("x", requested);
  await settled();
  const pull = await obtain("x", requested);
  const problems = [{ type: "ImagePullFailed", severity: "Error", message: "r/a:1 is unknown" }];
  const unavailable = expect.objectContaining({ message: "r/a:1 is unknown", problems }) as unknown;
  expect(pull).toEqual({ kind: "done", value: { image: imageOf("x", "r/b:1"), unavailable } });
});

test("BundleImages cancels a pull when another image is requested", async () => {
  const { puller, obtain } = setUp();
  puller.hanging.add("r/a:1");
  await obtain("x", "r/a:1");
  await settled();
  await obtain("x", "r/b:1");
  await settled();
  expect(await obtain("x", "r/b:1")).toMatchObject({ kind: "done" });
  expect(puller.calls).toEqual(["pull x r/a:1", "cancelled x r/a:1", "pull x r/b:1"]);
});

test("BundleImages cancels a pull for an earlier generation of the extension, but not a pull for the current generation", async () => {
  const { puller, images, obtain } = setUp();
  puller.hanging.add("r/a:1");
  await obtain("x", "r/a:1");
  await settled();
  await images.cancelOutdated({ metadata: { name: "x", generation: 1 } });
  expect(puller.calls).toEqual(["pull x r/a:1"]);
  await images.cancelOutdated({ metadata: { name: "x", generation: 2 } });
  expect(puller.calls).toEqual(["pull x r/a:1", "cancelled x r/a:1"]);
});

test("BundleImages removes the images of an extension after its pull has ended", async () => {
  const { puller, images, obtain } = setUp();
  puller.hanging.add("r/a:1");
  await obtain("x", "r/a:1");
  await settled();
  await images.forget("x");
  expect(puller.calls).toEqual(["pull x r/a:1", "cancelled x r/a:1", "remove x"]);
});
