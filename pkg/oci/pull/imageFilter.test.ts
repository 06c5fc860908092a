import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { insecureRegistry, loopbackRegistry, puller } from "../../../test/support/pulling.ts";
import { type TarEntry, tarball } from "../../../test/support/tarball.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import { findBundleRoot } from "./imageFilter.ts";

interface LabelCase extends CaseHead {
  labels: Record<string, string>;
  byTag?: string;
}

const TAG = "quay.io/ns/app:v1";
const CSV: TarEntry = { name: "manifests/csv.yaml", content: "1" };

test.for(loadCases<LabelCase>("bundle-image"))("$name", async ({ labels, byTag }) => {
  const registry = await loopbackRegistry();
  const { digest } = registry.addImage("ns/app", "v1", { labels, layers: [tarball([CSV])] });
  const { puller: made } = await puller({ conf: insecureRegistry(registry.host, "quay.io") });
  const pinned = `quay.io/ns/app@${digest}`;
  const signal = new AbortController().signal;
  const pulling = [TAG, pinned].map((ref) => made.pull("ext", ref, { signal, filter: findBundleRoot }).catch((err: unknown) => err));
  const [first, second] = await Promise.all(pulling);
  if (byTag === undefined) {
    expect([first, second]).toEqual([expect.objectContaining({ root: "" }), expect.objectContaining({ root: "" })]);
    return;
  }
  const message = `error applying image: ${byTag}`;
  expect(first).toEqual(new RetryableError("Retrying", message));
  expect(second).toEqual(new TerminalError("Blocked", message.replace(TAG, pinned)));
  // Only the configuration of each image was fetched, but no layer.
  expect(registry.paths(/blobs/).length).toBeLessThanOrEqual(2);
});
