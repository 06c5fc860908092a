import { expect, test } from "vitest";
import { BundleImages, type BundlePuller, type WantedImage } from "./bundleImages.ts";

/** Pulls what a test does not make fail or hang. */
class CannedPuller implements BundlePuller {
  readonly calls: string[] = [];
  readonly onDisk = new Set<string>();
  readonly failing = new Set<string>();
  readonly hanging = new Set<string>();

  cached(owner: string, ref: string): Promise<ReturnType<typeof imageOf> | undefined> {
    if (this.failing.has(ref)) return Promise.reject(new Error("the disk fails"));
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
  const woken: string[] = [];
  const images = new BundleImages(puller, (name) => void woken.push(name));
  const ask = (name: string, wanted: WantedImage | string, generation = 1): ReturnType<typeof images.obtain> =>
    images.obtain({ metadata: { name, generation } }, typeof wanted === "string" ? { ref: wanted } : wanted, new AbortController().signal);
  return { puller, images, woken, ask };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("an image on disk is there at once, without a pull", async () => {
  const { puller, ask, woken } = setUp();
  puller.onDisk.add("r/a:1");
  expect(await ask("x", "r/a:1")).toEqual({ kind: "done", value: { image: imageOf("x", "r/a:1") } });
  expect([puller.calls, woken]).toEqual([[], []]);
});

test("an image on disk is there at once while pulls of other extensions hang", async () => {
  const { puller, ask } = setUp();
  puller.onDisk.add("r/a:1");
  puller.hanging.add("r/b:1");
  for (let i = 0; i < 100; i++) await ask(`h${i}`, "r/b:1");
  expect(await ask("x", "r/a:1")).toMatchObject({ kind: "done" });
});

test("any other image is pulled, and the extension is woken at the end", async () => {
  const { ask, woken } = setUp();
  expect(await ask("x", "r/a:1")).toMatchObject({ kind: "pending", isNew: true });
  await settled();
  expect(woken).toEqual(["x"]);
  expect(await ask("x", "r/a:1")).toEqual({ kind: "done", value: { image: imageOf("x", "r/a:1") } });
});

test("the substitute is pulled when the image is not available, in one go", async () => {
  const { puller, ask } = setUp();
  puller.failing.add("r/a:1");
  const wanted = { ref: "r/a:1", substitute: "r/b:1" };
  await ask("x", wanted);
  await settled();
  const pull = await ask("x", wanted);
  const problems = [{ type: "ImagePullFailed", severity: "Error", message: "r/a:1 is unknown" }];
  const unavailable = expect.objectContaining({ message: "r/a:1 is unknown", problems }) as unknown;
  expect(pull).toEqual({ kind: "done", value: { image: imageOf("x", "r/b:1"), unavailable } });
});

test("another image cancels the pull before it", async () => {
  const { puller, ask } = setUp();
  puller.hanging.add("r/a:1");
  await ask("x", "r/a:1");
  await settled();
  await ask("x", "r/b:1");
  await settled();
  expect(await ask("x", "r/b:1")).toMatchObject({ kind: "done" });
  expect(puller.calls).toEqual(["pull x r/a:1", "cancelled x r/a:1", "pull x r/b:1"]);
});

test("a pull that an earlier spec asked for is cancelled when the new one wants none, and kept when only a pass fails", async () => {
  const { puller, images, ask } = setUp();
  puller.hanging.add("r/a:1");
  await ask("x", "r/a:1");
  await settled();
  await images.cancelOutdated({ metadata: { name: "x", generation: 1 } });
  expect(puller.calls).toEqual(["pull x r/a:1"]);
  await images.cancelOutdated({ metadata: { name: "x", generation: 2 } });
  expect(puller.calls).toEqual(["pull x r/a:1", "cancelled x r/a:1"]);
});

test("what is kept of an extension is removed after its pull has ended", async () => {
  const { puller, images, ask } = setUp();
  puller.hanging.add("r/a:1");
  await ask("x", "r/a:1");
  await settled();
  await images.forget("x");
  expect(puller.calls).toEqual(["pull x r/a:1", "cancelled x r/a:1", "remove x"]);
});
