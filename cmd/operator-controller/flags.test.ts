import { expect, test } from "vitest";
import { getOperatorProxySettings } from "../internal/operatorProxyFlags.ts";
import { type Flags, parseFlags, usage } from "./flags.ts";

test("operator-controller by default rejects extensions without a ServiceAccount, and checks drift every five minutes", () => {
  expect(parseFlags([])).toMatchObject({
    "system-namespace": "olmv1-system",
    "cache-path": "/var/cache/operator-controller",
    "managed-permissions": "on",
    "webhook-cert-provider": "auto",
    "drift-interval": 300_000,
    "max-backoff": 120_000,
  });
});

test("operator-controller has no default cluster version, and by default writes ClusterOperator olm only if no other program writes it", () => {
  const flags = parseFlags([]);
  expect(flags).toMatchObject({ "cluster-operator": "auto" });
  expect(flags).not.toHaveProperty("cluster-version");
});

// Source: S1-34, G-02.
test.for([
  ["4.18", 4, 18],
  ["4.18.0-rc.3+x", 4, 18],
  ["5.0.1", 5, 0],
] as const)("operator-controller parses --cluster-version %s as %d.%d", ([text, major, minor]) => {
  expect(parseFlags(["--cluster-version", text])).toMatchObject({ "cluster-version": { kind: "known", text, minor: { major, minor } } });
});

test.for([
  [["--managed-permissions", "root"], "--managed-permissions: "],
  [["--global-pull-secret=/a"], "incorrect number of components; value of global-pull-secret should be of the format <namespace>/<name>"],
  [["--max-concurrent-reconciles", "0"], "--max-concurrent-reconciles: "],
  [["--drift-interval", "5"], '--drift-interval: must be a duration of at least one second, such as "5m"'],
  [["--webhook-cert-provider", "acme"], "--webhook-cert-provider: "],
  [["--tls-cert", "a"], "unable to configure TLS certificates: tls-cert and tls-key flags must be used together"],
  [["--metrics-bind-address", ":8443"], "metrics-bind-address requires tls-cert and tls-key flags to be set"],
  [["--tls-profile", "x"], '--tls-profile: unknown TLS profile: "x"'],
  [
    ["--tls-custom-ciphers", "TLS_AES_128_GCM_SHA256,DHE-RSA-AES128-SHA256"],
    '--tls-custom-ciphers: unknown cipher "DHE-RSA-AES128-SHA256"',
  ],
  [["--tls-custom-curves", "X448"], '--tls-custom-curves: unknown curve "X448"'],
  [["--tls-custom-version", "SSLv3"], '--tls-custom-version: unknown TLS version: "SSLv3"'],
  [["--cluster-operator", "yes"], "--cluster-operator: "],
  [["--cluster-version", "v4.18"], '--cluster-version: must be a version such as "4.18" or "4.18.3": '],
  [["--cluster-version", "4"], "--cluster-version: must be a version"],
  [["--cluster-version", "4.018"], "--cluster-version: must be a version"],
  [["--cluster-version", ""], "--cluster-version: must be a version"],
  [["--operator-proxy", "yes"], "--operator-proxy: "],
  [["--operator-http-proxy", "proxy:3128"], "--operator-http-proxy: expected a proxy URL"],
  [["--operator-proxy=none", "--operator-no-proxy=.svc"], "have no effect with operator-proxy=none"],
  [["--unknown"], "Unknown option '--unknown'"],
] as const)("operator-controller rejects flags %j", ([args, message]) => {
  expect(() => parseFlags([...args])).toThrow(message);
});

// Source: I-30.
test("operator-controller parses TLS flags as lists, and ignores an empty list", () => {
  expect(
    parseFlags([
      "--tls-profile=Custom",
      "--tls-custom-ciphers=TLS_AES_128_GCM_SHA256, TLS_RSA_WITH_RC4_128_SHA",
      "--tls-cert=",
      "--tls-key=",
    ]),
  ).toMatchObject({
    "tls-profile": "Custom",
    "tls-custom-ciphers": ["TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA"],
    "tls-custom-curves": [],
    "tls-custom-version": "TLSv1.2",
    "tls-cert": undefined,
  });
  expect(parseFlags([])).toMatchObject({ "tls-profile": "intermediate" });
});

// Source: S0-089.
test("operator-controller by default sets the cluster's proxy for installed operators, and ignores empty proxy flags", () => {
  const settings = (...args: string[]) => getOperatorProxySettings(parseFlags(args) as Flags);
  expect(settings()).toEqual({ mode: "auto", given: {} });
  expect(settings("--operator-proxy=none", "--operator-http-proxy=", "--operator-no-proxy=")).toEqual({ mode: "none", given: {} });
  expect(settings("--operator-https-proxy=http://proxy:3128", "--operator-no-proxy=.svc")).toEqual({
    mode: "auto",
    given: { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: ".svc" },
  });
});

test("operator-controller --help lists every flag", () => {
  expect(parseFlags(["--help"])).toBe("help");
  expect(usage()).toMatch(/--drift-interval +interval/);
});
