import { expect, test } from "vitest";
import { createCatalog } from "../../test/support/catalogs.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { getRestMs } from "../errors/errors.ts";
import { createLogger } from "../telemetry/log.ts";
import { newStarted } from "./phases.ts";
import { storeContent } from "./storeContent.ts";

const log = createLogger({ component: "test", level: "error" });

test.for<[tookMs: number, restMs: number | undefined]>([
  [1_000, undefined],
  [60_000, 240_000],
])("storeContent retries a failure that took %i ms after at least %s ms", async ([tookMs, restMs]) => {
  using folder = new TempFolder();
  let now = 0;
  const step = storeContent({
    store: {
      store() {
        now += tookMs;
        return Promise.reject(new Error("a.yaml: line 1: broken"));
      },
    },
    images: { remove: () => Promise.resolve() },
    events: { record: () => undefined },
    now: () => now,
  });
  const unpacked = {
    canonical: "quay.io/c@sha256:1",
    digest: "sha256:1",
    dir: folder.write("image", { "configs/a.yaml": "" }),
    root: "configs",
    modTime: new Date(0),
  };
  const fetched = { ...newStarted(createCatalog("hostile", {})), phase: "fetched", image: { kind: "unpacked", unpacked } } as const;
  const error: unknown = await step.run(fetched, { log, signal: new AbortController().signal }).catch((err: unknown) => err);
  expect(error).toMatchObject({ message: "error storing fbc: error walking FBC root: a.yaml: line 1: broken" });
  expect(getRestMs(error)).toBe(restMs);
});
