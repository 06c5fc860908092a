import { beforeEach, expect, test } from "vitest";
import { createCatalog } from "../../test/support/catalogs.ts";
import { createLogger } from "../telemetry/log.ts";
import { ContentRecovery } from "./catalogFollower.ts";
import type { CatalogContent } from "./store/content.ts";

const ONE = "quay.io/c@sha256:1";
const TWO = "quay.io/c@sha256:2";
const log = createLogger({ component: "test", level: "silent" });

/** Simulates the registry and the other replicas for one replica. */
class Scene {
  readonly stored = new Map<string, CatalogContent>();
  readonly failing: string[] = [];
  readonly asked: string[] = [];
  readonly stepped: string[] = [];
  isUp = true;
  readonly contents = new ContentRecovery({ contents: this.stored, follower: this, stepDown: (why) => void this.stepped.push(why) });

  follow(name: string): Promise<undefined> {
    this.asked.push(name);
    this.failing.splice(0, this.failing.length, ...(this.isUp ? [] : [name]));
    if (this.isUp) this.stored.set(name, {} as CatalogContent);
    return Promise.resolve(undefined);
  }

  lose(name: string): void {
    this.stored.delete(name);
    this.contents.add(name);
  }

  pass(name: string, digest: string = ONE): Promise<string> {
    return this.contents.replace(name, createCatalog(name, { digest }), log, new AbortController().signal);
  }
}

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

test("ContentRecovery does nothing when no content was lost", async () => {
  expect([await scene.pass("a"), scene.asked]).toEqual(["nothing to do", []]);
});

test("ContentRecovery loads lost content again by the digest in the status, and keeps leadership", async () => {
  scene.lose("a");
  expect([await scene.pass("b"), await scene.pass("a"), await scene.pass("a")]).toEqual(["nothing to do", "loaded", "nothing to do"]);
  expect([scene.asked, scene.stepped]).toEqual([["a"], []]);
});

test("ContentRecovery yields leadership once per digest when lost content cannot be loaded", async () => {
  scene.isUp = false;
  scene.lose("a");
  expect([await scene.pass("a"), await scene.pass("a")]).toEqual(["leadership yielded", "nothing to do"]);
  expect(await scene.pass("a", TWO)).toBe("leadership yielded");
  scene.isUp = true;
  await scene.follow("a");
  expect(await scene.pass("a", TWO)).toBe("nothing to do");
  scene.isUp = false;
  scene.lose("a");
  expect(await scene.pass("a", TWO)).toBe("leadership yielded");
  const why = "stored content of catalog a was lost and cannot be loaded again, but other replicas may have it";
  expect(scene.stepped).toEqual([why, why, why]);
});

test("ContentRecovery does not load lost content when the catalog is no longer served", async () => {
  scene.lose("a");
  const gone = createCatalog("a", { digest: ONE, serving: false });
  expect(await scene.contents.replace("a", gone, log, new AbortController().signal)).toBe("nothing to do");
});
