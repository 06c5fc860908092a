import { expect, test } from "vitest";
import { parseFlags, usage } from "./flags.ts";

test("by default nobody acts for an extension without a ServiceAccount, and drift is looked for every five minutes", () => {
  expect(parseFlags([])).toMatchObject({
    "system-namespace": "olmv1-system",
    "cache-path": "/var/cache/operator-controller",
    "service-account-fallback": "deny",
    "drift-interval": 300_000,
    "max-backoff": 120_000,
  });
});

test.for([
  [["--service-account-fallback", "root"], "--service-account-fallback: "],
  [["--max-concurrent-reconciles", "0"], "--max-concurrent-reconciles: "],
  [["--drift-interval", "5"], '--drift-interval: want a duration of at least a second, such as "5m"'],
  [["--unknown"], "Unknown option '--unknown'"],
] as const)("%j is refused", ([args, message]) => {
  expect(() => parseFlags([...args])).toThrow(message);
});

test("--help lists every flag", () => {
  expect(parseFlags(["--help"])).toBe("help");
  expect(usage()).toMatch(/--drift-interval +how often/);
});
