import { beforeEach, expect, test } from "vitest";
import { catalogNamed } from "../../test/support/catalogs.ts";
import { createLogger } from "../telemetry/log.ts";
import { LostContents } from "./catalogFollower.ts";
import type { CatalogContent } from "./store/content.ts";

const ONE = "quay.io/c@sha256:1";
const TWO = "quay.io/c@sha256:2";
const log = createLogger({ component: "test", level: "silent" });

/** The registry and the other replicas as one replica meets them. */
class Scene {
  readonly stored = new Map<string, CatalogContent>();
  readonly failing: string[] = [];
  readonly asked: string[] = [];
  readonly stepped: string[] = [];
  isUp = true;
  readonly contents = new LostContents({ contents: this.stored, follower: this, stepDown: (why) => void this.stepped.push(why) });

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
    return this.contents.replace(name, catalogNamed(name, { digest }), log, new AbortController().signal);
  }
}

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

test("what was never lost is none of its business", async () => {
  expect([await scene.pass("a"), scene.asked]).toEqual(["nothing to do", []]);
});

test("what was lost is loaded again as the status names it, and nobody has to lead instead", async () => {
  scene.lose("a");
  expect([await scene.pass("b"), await scene.pass("a"), await scene.pass("a")]).toEqual(["nothing to do", "loaded", "nothing to do"]);
  expect([scene.asked, scene.stepped]).toEqual([["a"], []]);
});

test("what cannot be loaded is left to the others, once for each digest, until it was here again", async () => {
  scene.isUp = false;
  scene.lose("a");
  expect([await scene.pass("a"), await scene.pass("a")]).toEqual(["left to others", "nothing to do"]);
  expect(await scene.pass("a", TWO)).toBe("left to others");
  scene.isUp = true;
  await scene.follow("a");
  expect(await scene.pass("a", TWO)).toBe("nothing to do");
  scene.isUp = false;
  scene.lose("a");
  expect(await scene.pass("a", TWO)).toBe("left to others");
  const why = "content of catalog a was lost here and cannot be loaded again; other replicas may have it";
  expect(scene.stepped).toEqual([why, why, why]);
});

test("what is served no more need not be loaded", async () => {
  scene.lose("a");
  const gone = catalogNamed("a", { digest: ONE, serving: false });
  expect(await scene.contents.replace("a", gone, log, new AbortController().signal)).toBe("nothing to do");
});
