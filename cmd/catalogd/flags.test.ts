import { describe, expect, test } from "vitest";
import { checkPlainHttp, parseFlags, usage } from "./flags.ts";

test("catalogd flags have the same defaults as in the Go implementation", () => {
  expect(parseFlags([])).toMatchObject({
    "shutdown-delay": 5_000,
    "catalogs-server-addr": ":8443",
    "external-address": "catalogd-service.olmv1-system.svc",
    "cache-dir": "/var/cache/catalogd",
    "gc-interval": 43_200_000,
    "health-probe-bind-address": ":8081",
    "leader-elect": false,
    "leader-election-lease-duration": 137_000,
    "leader-election-renew-deadline": 107_000,
    "leader-election-retry-period": 26_000,
  });
  expect(parseFlags(["--leader-elect"])).toMatchObject({ "leader-elect": true });
});

describe("plain HTTP", () => {
  const check = (args: readonly string[]): void => {
    const flags = parseFlags([...args]);
    if (flags !== "help") checkPlainHttp(flags);
  };

  test.for([
    ["--catalogs-server-addr=127.0.0.1:8080"],
    ["--catalogs-server-addr=127.8.0.1:8080"],
    ["--catalogs-server-addr=[::1]:8080"],
    ["--catalogs-server-addr=localhost:8080"],
    ["--catalogs-server-addr=:8080", "--insecure-plain-http"],
    ["--catalogs-server-addr=:8080", "--tls-cert=a", "--tls-key=b"],
    ["--catalogs-server-addr=:8080", "--serving-certificates=self-managed"],
  ])("checkPlainHttp allows plain HTTP when the flags are %j", (args) => {
    expect(() => check(args)).not.toThrow();
  });

  test.for([
    [],
    ["--catalogs-server-addr=0.0.0.0:80"],
    ["--catalogs-server-addr=[::]:80"],
    ["--catalogs-server-addr=127.0.0.1.example.com:80"],
    ["--catalogs-server-addr=10.0.0.1:80", "--insecure-plain-http=false"],
  ])("checkPlainHttp rejects plain HTTP when the flags are %j", (args) => {
    expect(() => check(args)).toThrow(
      /^catalogs-server-addr \S+ would serve content to the network over plain HTTP: use tls-cert and tls-key/,
    );
  });
});

test.for([
  [["--shutdown-delay=2m"], "--shutdown-delay: must be a duration of at most one minute"],
  [["--shutdown-delay=soon"], "--shutdown-delay: must be a duration of at most one minute"],
  [["--tls-cert", "a"], "tls-cert and tls-key flags must be used together"],
  [["--tls-key=a"], "tls-cert and tls-key flags must be used together"],
  [["--metrics-bind-address", ":7443"], "metrics-bind-address requires tls-cert and tls-key flags"],
  [["--serving-certificates=mine"], "--serving-certificates: "],
  [["--serving-certificates=self-managed", "--tls-cert=a", "--tls-key=b"], "cannot be used with serving-certificates=self-managed"],
  [["--serving-certificates=self-managed", "--external-address=10.0.0.1:8443"], "requires a DNS name in external-address"],
  [["--tls-profile", "Cluster"], '--tls-profile: unknown TLS profile: "Cluster"'],
  [["--tls-profile", "x"], '--tls-profile: unknown TLS profile: "x"'],
  [["--global-pull-secret", "pull-secret"], "value of global-pull-secret should be of the format <namespace>/<name>"],
  [["--global-pull-secret=a/b/c"], "value of global-pull-secret should be of the format <namespace>/<name>"],
  [["--gc-interval", "often"], '--gc-interval: must be a duration of at least one second, such as "12h"'],
  [["--leader-election-lease-duration=100s"], "leader-election-lease-duration must be greater than leader-election-renew-deadline"],
  [["--log-level", "loud"], "--log-level: "],
  [["--unknown"], "Unknown option '--unknown'"],
] as const)("catalogd rejects flags %j", ([args, message]) => {
  expect(() => parseFlags([...args])).toThrow(message);
});

test("catalogd --help lists every flag", () => {
  expect(parseFlags(["--help"])).toBe("help");
  expect(usage()).toMatch(/--cache-dir +folder/);
});
