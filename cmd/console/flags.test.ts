import { expect, test } from "vitest";
import { getApiServer, parseFlags, usage } from "./flags.ts";

const PLAIN = "--insecure-plain-http";

test("console rejects changes, and accepts all hosts, unless flags say otherwise", () => {
  expect(parseFlags([PLAIN])).toMatchObject({
    "allow-changes": false,
    "allowed-host": [],
    "bind-address": ":8443",
    "shutdown-delay": 5_000,
  });
  expect(parseFlags([PLAIN, "--allow-changes"])).toMatchObject({ "allow-changes": true });
});

test("console accepts hosts in lower case when --allowed-host is repeated or has several values", () => {
  const flags = parseFlags([PLAIN, "--allowed-host=Console.example.com, olm.example.com:8443", "--allowed-host=[::1]:80"]);
  expect(flags).toMatchObject({ "allowed-host": ["console.example.com", "olm.example.com:8443", "[::1]:80"] });
});

test.for([
  ["--bind-address=127.0.0.1:8080"],
  ["--bind-address=[::1]:8080"],
  ["--bind-address=localhost:8080"],
  ["--bind-address=:8080", PLAIN],
  ["--bind-address=:8443", "--tls-cert=a", "--tls-key=b"],
])("console serves its address when the flags are %j", (args) => {
  expect(parseFlags([...args])).toMatchObject({ "system-namespace": "olmv1-system" });
});

test.for([
  [[], "bind-address would serve the console to the network over plain HTTP"],
  [["--bind-address=0.0.0.0:8080"], "bind-address would serve the console to the network over plain HTTP"],
  [["--tls-cert=a"], "tls-cert and tls-key flags must be used together"],
  [[PLAIN, "--allowed-host=https://console.example.com"], "--allowed-host: must be hosts"],
  [[PLAIN, "--allowed-host=*.example.com"], "--allowed-host: must be hosts"],
  [[PLAIN, "--tls-profile=cluster"], "unknown TLS profile"],
  [[PLAIN, "--shutdown-delay=2m"], "--shutdown-delay: must be a duration of at most one minute"],
  [[PLAIN, "--kubeconfig=x"], "Unknown option '--kubeconfig'"],
] as const)("console rejects flags %j", ([args, message]) => {
  expect(() => parseFlags([...args])).toThrow(message);
});

test.each([
  { env: { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "6443" }, url: "https://10.0.0.1:6443" },
  { env: { KUBERNETES_SERVICE_HOST: "fd00::1" }, url: "https://[fd00::1]:443" },
])("getApiServer returns $url when the environment of the Pod is $env", ({ env, url }) => {
  expect(getApiServer({}, env)).toBe(url);
  expect(getApiServer({ "api-server": "https://other:1" }, env)).toBe("https://other:1");
});

test("getApiServer fails when the console runs outside of a Pod without --api-server", () => {
  expect(() => getApiServer({}, {})).toThrow("api-server must be set outside of a Pod");
});

test("console --help lists every flag", () => {
  expect(parseFlags(["--help"])).toBe("help");
  expect(usage()).toMatch(/--allowed-host +hosts/);
});
