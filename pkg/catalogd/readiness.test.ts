import { beforeEach, expect, test } from "vitest";
import { createCatalog } from "../../test/support/catalogs.ts";
import { FakeClock } from "../../test/support/fakeClock.ts";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { createLogger } from "../telemetry/log.ts";
import { ReplicaReadiness } from "./readiness.ts";
import type { CatalogContent } from "./store/content.ts";

let clock: FakeClock;
let catalogs: ClusterCatalog[] | undefined;
let contents: Map<string, CatalogContent>;
let lines: string[];
let readiness: ReplicaReadiness;

beforeEach(() => {
  clock = new FakeClock();
  clock.advance(1_000);
  catalogs = undefined;
  contents = new Map();
  lines = [];
  const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
  readiness = new ReplicaReadiness({ catalogs: () => catalogs, contents, deadlineMs: 60_000, clock, log });
});

function serve(digests: Record<string, string>): void {
  catalogs = Object.entries(digests).map(([name, digest]) => createCatalog(name, { digest: `quay.io/c@${digest}` }));
}
function store(name: string, digest: string): void {
  contents.set(name, { origin: { digest } } as CatalogContent);
}

test("readiness fails before the first list of catalogs", () => {
  expect(() => readiness.check()).toThrow("the ClusterCatalogs have not been listed yet");
  expect(readiness.missing()).toBeUndefined();
  catalogs = [];
  expect(readiness.check()).toBe("0 of 0 catalogs");
});

test("readiness requires content with the digest in the status for each served catalog, and ignores other catalogs", () => {
  serve({ a: "sha256:1", b: "sha256:2" });
  catalogs!.push(createCatalog("new", {}), createCatalog("off", { digest: "quay.io/c@sha256:9", availabilityMode: "Unavailable" }));
  expect(() => readiness.check()).toThrow("the content of these catalogs is still loading: a, b");
  store("a", "sha256:1");
  store("b", "sha256:old");
  expect(() => readiness.check()).toThrow("the content of these catalogs is still loading: b");
  store("b", "sha256:2");
  expect(readiness.check()).toBe("2 of 2 catalogs");
});

test("readiness check still passes when a catalog is added or gets a new digest, because no replica has the new content yet", () => {
  serve({ a: "sha256:1" });
  store("a", "sha256:1");
  readiness.check();
  serve({ a: "sha256:2", b: "sha256:3" });
  expect(readiness.check()).toBe("0 of 2 catalogs; the content reported in the status is not stored yet: a, b");
  expect(readiness.missing()).toEqual(["a", "b"]);
});

test("readiness waits only until the deadline for content that cannot be loaded", () => {
  serve({ a: "sha256:1", gone: "sha256:2" });
  store("a", "sha256:1");
  clock.advance(59_000);
  expect(() => readiness.check()).toThrow("is still loading: gone");
  clock.advance(1_000);
  expect(readiness.check()).toBe("1 of 2 catalogs; the content reported in the status is not stored yet: gone");
  readiness.check();
  expect(lines.filter((line) => line.includes("could not be loaded in time"))).toHaveLength(1);
});
