import { expect, test } from "vitest";
import { findRefusal, outerLookup, parsePrivateAddress } from "./transport.ts";

test.for([
  ["localhost", "loopback"],
  ["registry.LOCALHOST", "loopback"],
  ["127.0.0.1", "loopback"],
  ["127.9.9.9", "loopback"],
  ["[::1]", "loopback"],
  ["[::ffff:127.0.0.1]", "loopback"],
  ["169.254.169.254", "link-local"],
  ["[fe80::1]", "link-local"],
  ["[fd00:ec2::254]", "link-local"],
  ["[::ffff:169.254.169.254]", "link-local"],
  ["0.0.0.0", "unspecified"],
  ["[::]", "unspecified"],
  ["10.0.0.1", undefined],
  ["[fd00::1]", undefined],
  ["quay.io", undefined],
  ["localhost.example.com", undefined],
  ["127.0.0.1.example.com", undefined],
] as const)("%s is %s", ([host, kind]) => {
  expect(parsePrivateAddress(host)).toBe(kind);
});

test.for([
  ["http://2852039166/", "169.254.169.254"],
  ["http://0xa9.0xfe.0xa9.0xfe/", "169.254.169.254"],
  ["http://0177.1/", "127.0.0.1"],
] as const)("if %s is the hostname, the hostname of the parsed URL is %s", ([url, host]) => {
  expect(new URL(url).hostname).toBe(host);
  expect(parsePrivateAddress(host)).toBeDefined();
});

test.for([
  ["quay.io", "auth.quay.io", undefined],
  ["quay.io", "10.0.0.1", undefined],
  ["quay.io", "127.0.0.1", "refused to connect to 127.0.0.1, a loopback address"],
  ["quay.io", "localhost", "refused to connect to localhost, a loopback address"],
  ["quay.io", "169.254.169.254", "refused to connect to 169.254.169.254, a link-local address"],
  ["169.254.169.254", "169.254.169.254", "refused to connect to 169.254.169.254, a link-local address"],
  ["127.0.0.1", "169.254.169.254", "refused to connect to 169.254.169.254, a link-local address"],
  ["127.0.0.1", "localhost", undefined],
  ["localhost", "[::1]", undefined],
] as const)("registry %s names %s: %s", ([registry, target, want]) => {
  expect(findRefusal(target, registry)).toBe(want);
});

test("a name that resolves to this machine is rejected", async () => {
  const found = await new Promise((resolve) => outerLookup("localhost", { all: true }, (err, addresses) => resolve(err ?? addresses)));
  expect(found).toEqual(new Error("refused to connect to localhost, which has a loopback address"));
});
