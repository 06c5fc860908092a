import { expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { ObjectState } from "../../controller/optionalObject.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CLUSTER_PROXY, type ClusterProxy, newClusterProxySource, parseProxyUrl, toClusterProxy } from "./clusterProxy.ts";

const { name, ...gvk } = CLUSTER_PROXY;
const proxyObject = (status: unknown, spec: unknown = {}): KubeObject => ({ ...gvk, metadata: { name, uid: "u" }, spec, status });
const known = (variables: Record<string, string>): ClusterProxy => ({ kind: "known", variables, source: 'Proxy "cluster"' });
const HTTP = { httpProxy: "http://user:s3cr3t@proxy:3128" };

// Source: S0-089; operator-lifecycle-manager 992bb0977 pkg/lib/proxy reads the status.
test.for<[from: string, state: ObjectState, want: ClusterProxy]>([
  ["a cluster without Proxy objects", { kind: "notServed" }, { kind: "none" }],
  ["no object", { kind: "absent" }, { kind: "none" }],
  ["an object without status", { kind: "present", object: proxyObject(undefined) }, { kind: "none" }],
  ["a status without values", { kind: "present", object: proxyObject({ httpProxy: "", noProxy: "" }) }, { kind: "none" }],
  ["a spec without status", { kind: "present", object: proxyObject({}, HTTP) }, { kind: "none" }],
  ["a value of another type", { kind: "present", object: proxyObject({ httpProxy: 3128 }) }, { kind: "none" }],
  [
    "a status",
    { kind: "present", object: proxyObject({ httpProxy: "http://a:1", httpsProxy: "http://b:2", noProxy: ".svc" }) },
    known({ HTTP_PROXY: "http://a:1", HTTPS_PROXY: "http://b:2", NO_PROXY: ".svc" }),
  ],
  ["a denied request", { kind: "unreadable", reason: "no" }, { kind: "unknown", reason: 'Proxy "cluster" cannot be read: no' }],
  ["no response yet", { kind: "unknown" }, { kind: "unknown", reason: 'Proxy "cluster" has not been read yet' }],
])("toClusterProxy converts %s", ([, state, want]) => {
  expect(toClusterProxy(state)).toEqual(want);
});

function start(settings: Parameters<typeof newClusterProxySource>[0], prepare: (kind: WatchedKind) => void = () => undefined) {
  const kind = new WatchedKind(CLUSTER_PROXY);
  prepare(kind);
  const lines: string[] = [];
  const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
  const source = newClusterProxySource(settings, { client: kind, log, clock: new FakeClock() });
  const seen: ClusterProxy[] = [];
  source.onChange(() => seen.push(source.current()));
  const ended = new AbortController();
  const running = source.run(ended.signal);
  return { kind, source, seen, lines, stop: () => (ended.abort(), running) };
}

test("newClusterProxySource returns the current proxy of the cluster, and logs no passwords", async () => {
  const { kind, source, seen, lines, stop } = start({ mode: "auto", given: {} }, (fake) => fake.put(proxyObject(HTTP)));
  await source.synced;
  expect(source.current()).toEqual(known({ HTTP_PROXY: HTTP.httpProxy }));
  await flushPromises();
  kind.put(proxyObject({ ...HTTP, noProxy: ".svc" }));
  kind.put({ ...proxyObject({ ...HTTP, noProxy: ".svc" }), metadata: { name, uid: "u", labels: { a: "b" } } });
  await flushPromises();
  expect(seen).toEqual([known({ HTTP_PROXY: HTTP.httpProxy }), known({ HTTP_PROXY: HTTP.httpProxy, NO_PROXY: ".svc" })]);
  expect(lines.join("")).toContain("HTTP_PROXY, NO_PROXY");
  expect(lines.join("")).not.toContain("s3cr3t");
  await stop();
});

test("newClusterProxySource returns unknown without delay when reading the proxy is denied", async () => {
  const { source, stop } = start({ mode: "auto", given: {} }, (fake) => (fake.refusal = refusal(403, "Forbidden", "no")));
  await source.synced;
  expect(source.current()).toEqual({ kind: "unknown", reason: 'Proxy "cluster" cannot be read: no' });
  await stop();
});

test.for<[why: string, settings: Parameters<typeof newClusterProxySource>[0], want: ClusterProxy]>([
  ["none", { mode: "none", given: {} }, { kind: "none" }],
  [
    "one of the three",
    { mode: "auto", given: { NO_PROXY: "a" } },
    { kind: "known", variables: { NO_PROXY: "a" }, source: "operator-controller flags" },
  ],
])("newClusterProxySource ignores the cluster's proxy when flags set %s", async ([, settings, want]) => {
  const { source, stop } = start(settings, (fake) => fake.put(proxyObject(HTTP)));
  await source.synced;
  await flushPromises();
  expect(source.current()).toEqual(want);
  await stop();
});

test.for(["http://proxy.example.com:3128", "https://user:p%40ss@10.0.0.1:8080/", "socks5://proxy:1080", "http://[fd00::1]:3128"])(
  "parseProxyUrl accepts %s",
  (text) => {
    expect(parseProxyUrl(text)).toBe(text);
  },
);

test.for([
  "s3cr3t",
  "proxy:3128",
  "ftp://proxy",
  "http://",
  "http://s3cr3t:x y@proxy",
  'http://u:s3cr3t"@proxy',
  "http://u:s3cr3t@proxy/path",
])("parseProxyUrl rejects %s without repeating it in the message", (text) => {
  expect(() => parseProxyUrl(text)).toThrow(/^expected a proxy URL, such as "http:\/\/proxy.example.com:3128"$/);
});
