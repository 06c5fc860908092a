import { afterEach, expect, test, vi } from "vitest";
import { buildWorkerEnv } from "./taskThread.ts";

afterEach(() => void vi.unstubAllEnvs());

test.each<[what: string, cache: string | undefined, env: NodeJS.ProcessEnv]>([
  ["only the compile cache when the process has one", "/cache", { NODE_COMPILE_CACHE: "/cache" }],
  ["no variable when the process has no compile cache", undefined, {}],
])("buildWorkerEnv returns %s", (_, cache, env) => {
  vi.stubEnv("NODE_COMPILE_CACHE", cache);
  vi.stubEnv("TOKEN", "secret");
  expect(buildWorkerEnv()).toEqual(env);
});
