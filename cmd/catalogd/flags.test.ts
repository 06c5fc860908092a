import { expect, test } from "vitest";
import { parseFlags, usage } from "./flags.ts";

test("defaults are upstream's", () => {
  expect(parseFlags([])).toMatchObject({
    "catalogs-server-addr": ":8443",
    "external-address": "catalogd-service.olmv1-system.svc",
    "cache-dir": "/var/cache/catalogd",
    "gc-interval": 43_200_000,
    "health-probe-bind-address": ":8081",
  });
});

test.for([
  [["--tls-cert", "a"], "tls-cert and tls-key flags must be used together"],
  [["--tls-key=a"], "tls-cert and tls-key flags must be used together"],
  [["--metrics-bind-address", ":7443"], "metrics-bind-address requires tls-cert and tls-key flags"],
  [["--tls-profile", "x"], '--tls-profile: unknown TLS profile: "x"'],
  [["--gc-interval", "often"], '--gc-interval: want a duration of at least a second, such as "12h"'],
  [["--log-level", "loud"], "--log-level: "],
  [["--unknown"], "Unknown option '--unknown'"],
] as const)("%j is refused", ([args, message]) => {
  expect(() => parseFlags([...args])).toThrow(message);
});

test("--help lists every flag", () => {
  expect(parseFlags(["--help"])).toBe("help");
  expect(usage()).toMatch(/--cache-dir +folder/);
});
